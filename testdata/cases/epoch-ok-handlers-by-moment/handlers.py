import torch


class Saver:
    def __init__(self, path):
        self.path = path

    def __call__(self, engine, parts):
        state = {}
        for name, part in parts.items():
            state[name] = part.state_dict()
        torch.save(state, self.path)


def say(engine, text):
    print(text, engine.round)
