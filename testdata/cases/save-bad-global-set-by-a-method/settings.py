import json
import os
import shutil


class Settings:
    def __init__(self, path):
        if not os.path.exists(path):
            shutil.copy("mill.example.json", path)  # [ddp-unguarded-save]
            print("fill in", path, "before the next start")
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
