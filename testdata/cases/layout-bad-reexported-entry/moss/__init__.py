from .train import cli
