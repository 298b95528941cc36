"""A seccomp filter (BPF program) of system calls that answers may not make: sandbox escapes and unlimited resources.

Linux runs the filter before each system call. It answers EPERM to the calls listed
here, and ENOSYS to all calls added after Linux 5.0 (io_uring, pidfd, the new mount
API), which C libraries can handle; so future calls are refused as well.
Source: https://docs.kernel.org/userspace-api/seccomp_filter.html
"""

from __future__ import annotations

import struct
from errno import ENOSYS, EPERM

# Each call's number on x86_64, and on the later machines of MACHINES, which share one list.
NUMBERS = {
    "shmget": (29, 194), "shmat": (30, 196), "semget": (64, 190), "msgget": (68, 186), "mq_open": (240, 180),
    "memfd_create": (319, 279), "socket": (41, 198), "add_key": (248, 217), "request_key": (249, 218),
    "keyctl": (250, 219), "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "perf_event_open": (298, 241), "bpf": (321, 280), "userfaultfd": (323, 282), "io_setup": (206, 0),
    "inotify_init1": (294, 26), "fanotify_init": (300, 262), "unshare": (272, 97), "setns": (308, 268),
    "mount": (165, 40), "umount2": (166, 39), "chroot": (161, 51), "pivot_root": (155, 41), "personality": (135, 92),
}  # fmt: skip
# The machine's number in <linux/audit.h>, and the column of NUMBERS.
MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1), "riscv64": (0xC00000F3, 1)}
# The first number after Linux 5.0, on every machine. The numbers of x86_64's second interface (x32) are above it, too.
FIRST_NEW = 424
# BPF instructions (<linux/bpf_common.h>): load a word, jump if equal, jump if at least, return.
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
REFUSE, ALLOW = 0x50000, 0x7FFF0000  # answers to a call: an error number is added to REFUSE


def build_filter(machine: str) -> bytes:
    """The filter as struct sock_filter entries. Raises OSError for a machine whose call numbers are unknown here."""
    if machine not in MACHINES:
        raise OSError(f"it knows the calls of {', '.join(MACHINES)}, not of {machine}")
    machine_number, column = MACHINES[machine]
    numbers = [row[column] for row in NUMBERS.values()]
    # An instruction: (code, instructions to skip if the jump is taken, and if not, operand).
    # The data that it loads from are struct seccomp_data: the call's number at 0, the machine at 4.
    program = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, machine_number), (RETURN, 0, 0, REFUSE | EPERM)]
    program += [(LOAD, 0, 0, 0), (AT_LEAST, 0, 1, FIRST_NEW), (RETURN, 0, 0, REFUSE | ENOSYS)]
    # A listed number skips the remaining comparisons and the return of ALLOW.
    program += [(EQUAL, len(numbers) - index, 0, number) for index, number in enumerate(numbers)]
    program += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE | EPERM)]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
