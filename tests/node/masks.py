"""Masks of cache ways and lists of CPUs, as the kernel writes them."""


def bits(mask):
    return int(mask, 16).bit_count()


def is_one_run(mask):
    return "0" not in bin(int(mask, 16)).removeprefix("0b").rstrip("0")


def longest_run(mask):
    """The number of ways in the longest run."""
    return max(map(len, bin(mask).removeprefix("0b").split("0")))


def cpus_of(*lists):
    """{0, 1, 5} of "0-1,5", or of "0-1" and "5"."""
    cpus = set()
    for item in filter(None, ",".join(lists).strip().split(",")):
        first, _, last = item.partition("-")
        cpus |= set(range(int(first), int(last or first) + 1))
    return cpus
