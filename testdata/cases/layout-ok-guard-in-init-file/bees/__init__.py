from .ranks import chief as may_write

__all__ = ["may_write"]
