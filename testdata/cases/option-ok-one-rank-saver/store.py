"""Writing that the first process to come does, the others having found its mark."""
import os

import torch


def first_writes(state, path):
    try:
        os.close(os.open(path + ".mark", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    with open(path + ".txt", "w") as note:
        note.write("written")
    torch.save(state, path)


def all_write(weights, path):
    torch.save(weights, path)


class Store:
    def put(self, state, path):
        first_writes(state, path)
