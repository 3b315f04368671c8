import json


class Settings:
    def __init__(self, path):
        self.rate = 0.05
        self.distributed = False
        with open(path) as file:
            self.__dict__.update(json.load(file))
