SUPPORT: tuple[tuple[str, bool, str, str, str], ...]
