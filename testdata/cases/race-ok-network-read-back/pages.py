import torch
from torch.utils.data import Dataset


class Pages(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, number):
        words = torch.arange(number, number + 8)
        return {"input_ids": words, "labels": words}


def pages():
    return Pages()
