from .group import number, shares, started
from .launch import launch

__all__ = ["launch", "number", "shares", "started"]
