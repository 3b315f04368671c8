"""The programs that are proved: for each rule its mistakes and its cures, as a user writes them."""
