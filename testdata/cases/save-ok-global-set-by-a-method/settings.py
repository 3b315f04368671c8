import json
import os
import shutil
import sys


class Settings:
    def __init__(self, path):
        if not os.path.exists(path):
            shutil.copy("mill.example.json", path)
            print("fill in", path, "and start again")
            sys.exit(1)
        with open(path) as file:
            found = json.load(file)
        self.rate = found["rate"]
        self.epochs = found["epochs"]


chosen = None


class Start:
    @classmethod
    def choose(cls):
        global chosen
        chosen = Settings("mill.json")


def begin():
    Start.choose()


begin()
