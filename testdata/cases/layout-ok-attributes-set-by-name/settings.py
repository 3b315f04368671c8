import json


class Settings:
    rate = 0.05
    distributed = False

    def __init__(self, path):
        with open(path) as file:
            for name, value in json.load(file).items():
                setattr(self, name, value)
