from collections import defaultdict
from enum import Enum


class Moment(Enum):
    ROUND_STARTED = "round started"
    ROUND_ENDED = "round ended"


class Engine:
    def __init__(self, step):
        self.step = step
        self.round = 0
        self._handlers = defaultdict(list)

    def on(self, moment, *args):
        def register(handler):
            self._handlers[moment].append((handler, (self, *args)))
            return handler

        return register

    def fire(self, moment):
        for handler, args in self._handlers[moment]:
            handler(*args)

    def run(self, loader, rounds):
        for self.round in range(rounds):
            self.fire(Moment.ROUND_STARTED)
            for batch in loader:
                self.step(batch)
            self.fire(Moment.ROUND_ENDED)
