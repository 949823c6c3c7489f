"""Confine a process that runs students' code: what it may read, ask of the system, and use.

Landlock leaves it some folders to read and none to write. A seccomp filter refuses what has no
place in an exercise: other processes, programs, the network, the rights of files, shared memory.
Limits of resources bound the rest. All of it is Linux's own and lasts until the process ends.

Sources: landlock(7), seccomp(2), prctl(2) and setrlimit(2) of the Linux manual; the numbers of
system calls are those of the kernel's headers.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import struct
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

NEEDS = "Students' code is run behind Landlock and seccomp, which Linux has from 5.13 on"
INSTEAD = (
    "Nothing has been run. Grade on a Linux machine, or in a container on one (its kernel is the "
    "machine's): docker run --rm -v COURSE:/course -w /course IMAGE nbgrader autograde NAME"
)

# Calls that are refused, by their numbers on x86-64 and on ARM64, where there is such a call.
REFUSED = """
fork 57 -; vfork 58 -; execve 59 221; execveat 322 281; tkill 200 130; rt_sigqueueinfo 129 138;
rt_tgsigqueueinfo 297 240; ptrace 101 117; process_vm_readv 310 270; process_vm_writev 311 271;
kcmp 312 272; setns 308 268; unshare 272 97; personality 135 92; socket 41 198;
socketpair 53 199; truncate 76 45; chmod 90 -; fchmod 91 52; fchmodat 268 53; chown 92 -;
lchown 94 -; fchown 93 55; fchownat 260 54; utime 132 -; utimes 235 -; futimesat 261 -;
utimensat 280 88; setxattr 188 5; lsetxattr 189 6; fsetxattr 190 7; removexattr 197 14;
lremovexattr 198 15; fremovexattr 199 16; setpriority 141 140; ioprio_set 251 30;
sched_setscheduler 144 119; sched_setparam 142 118; sched_setattr 314 274;
sched_setaffinity 203 122; migrate_pages 256 238; move_pages 279 239; memfd_create 319 279;
shmget 29 194; shmat 30 196; shmctl 31 195; semget 64 190; semctl 66 191; msgget 68 186;
msgctl 71 187; mq_open 240 180; mq_unlink 241 181; add_key 248 217; request_key 249 218;
keyctl 250 219; userfaultfd 323 282; perf_event_open 298 241; bpf 321 280; io_setup 206 0;
inotify_init 253 -; inotify_init1 294 26; fanotify_init 300 262; open_by_handle_at 304 265
"""
# Calls that are refused unless their first argument is the process itself.
OF_ITSELF = {"kill": (62, 129), "tgkill": (234, 131), "prlimit64": (302, 261)}
CLONE, FCNTL = (56, 220), (72, 25)
NEWER = 424  # from here on calls have the same number everywhere; nothing that is needed is there
MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_ALL_RIGHTS, _READ_FILE, _READ_DIR, _WRITE_FILE = (1 << 13) - 1, 1 << 2, 1 << 3, 1 << 1
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _SECCOMP_FILTER = 38, 22, 2
_LOAD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _JUMP_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_CLONE_THREAD = 0x10000
_DATA = 5  # its place in /proc/self/statm
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def missing() -> str:
    """Say what this system lacks to run students' code safely, and what to do; "" if nothing."""
    if _LIBC is None:
        names = {"darwin": "macOS", "win32": "Windows"}
        return f"{NEEDS}; this is {names.get(sys.platform, sys.platform)}. {INSTEAD}"
    if platform.machine() not in MACHINES:
        return f"{NEEDS}, and here for x86-64 and ARM64; this is {platform.machine()}. {INSTEAD}"
    if _LIBC.syscall(_LANDLOCK_CREATE, None, 0, 1) < 1:
        why = os.strerror(ctypes.get_errno())
        return f"{NEEDS}; the kernel of this machine has no Landlock ({why}). {INSTEAD}"
    return ""


def read_only(folders: Iterable[Path], listed: Iterable[Path]) -> None:
    """Leave this process and its children these folders and files to read, and none to write.

    Of a folder that is `listed` it may read the names, and no file. It may write to nowhere.

    Raises
    ------
    OSError
        The system refuses.
    """
    assert _LIBC is not None
    _done(_LIBC.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    handled = ctypes.c_uint64(_ALL_RIGHTS)
    rules = _done(_LIBC.syscall(_LANDLOCK_CREATE, ctypes.byref(handled), ctypes.c_size_t(8), 0))
    for path in folders:
        _open_to(rules, path, _READ_FILE | (_READ_DIR if path.is_dir() else 0))
    for folder in listed:
        _open_to(rules, folder, _READ_DIR)
    _open_to(rules, Path(os.devnull), _READ_FILE | _WRITE_FILE)
    _done(_LIBC.syscall(_LANDLOCK_RESTRICT, rules, 0))
    os.close(rules)


def _open_to(rules: int, path: Path, rights: int) -> None:
    assert _LIBC is not None
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    rule = struct.pack("=Qi", rights, place)
    _done(_LIBC.syscall(_LANDLOCK_ADD, rules, 1, rule, 0))
    os.close(place)


def no_powers() -> None:
    """Give up what only the administrator may do; the files of the user stay readable."""
    assert _LIBC is not None
    header = struct.pack("=Ii", 0x20080522, 0)
    _done(_LIBC.capset(header, bytes(24)))


def held(what: int = 0) -> int:
    """Return the bytes of address space that this process has, or of those for its data."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[what]
    return int(pages) * resource.getpagesize()


def spare(memory: int) -> None:
    """Bound the bytes that this process may still write to, whatever addresses it reserves."""
    most = resource.getrlimit(resource.RLIMIT_DATA)[1]
    bound = held(_DATA) + memory
    soft = bound if most == resource.RLIM_INFINITY else min(bound, most)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, most))


def limit(memory: int, seconds: int) -> None:
    """Bound what this process may use: address space in bytes, seconds of processor time."""
    bounds = {
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_DATA: memory,  # what bounds the judge is not meant for students' code
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: 64,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    for kind, most in bounds.items():
        resource.setrlimit(kind, (most, most))


def alone() -> None:
    """Refuse this process what concerns other processes, the network, or the rights of files."""
    assert _LIBC is not None
    program = b"".join(struct.pack("=HBBI", *step) for step in _filter())
    code = ctypes.create_string_buffer(program)
    whole = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    _done(_LIBC.prctl(_SET_SECCOMP, _SECCOMP_FILTER, whole, 0, 0))


def _filter() -> Iterator[tuple[int, int, int, int]]:
    """Yield the filter's steps: operation, steps to skip if true, if false, and an operand."""
    place, machine = MACHINES[platform.machine()]
    refuse = (_RETURN, 0, 0, _ERROR | errno.EPERM)
    number, first, second = (_LOAD, 0, 0, 0), (_LOAD, 0, 0, 16), (_LOAD, 0, 0, 24)
    yield from ((_LOAD, 0, 0, 4), (_JUMP_EQUAL, 1, 0, machine), (_RETURN, 0, 0, _KILL), number)
    yield from ((_JUMP_GREATER_EQUAL, 0, 1, NEWER), (_RETURN, 0, 0, _ERROR | errno.ENOSYS))
    for call in REFUSED.split(";"):
        if (found := call.split()[1 + place]) != "-":
            yield from ((_JUMP_EQUAL, 0, 1, int(found)), refuse)
    for name, numbers in OF_ITSELF.items():
        nobody = 0 if name == "prlimit64" else os.getpid()
        yield from ((_JUMP_EQUAL, 0, 5, numbers[place]), first)
        yield from ((_JUMP_EQUAL, 2, 0, os.getpid()), (_JUMP_EQUAL, 1, 0, nobody), refuse, number)
    yield from ((_JUMP_EQUAL, 0, 4, CLONE[place]), first, (_JUMP_SET, 1, 0, _CLONE_THREAD))
    yield from (refuse, number)
    yield from ((_JUMP_EQUAL, 0, 6, FCNTL[place]), second)
    for steps, command in (3, 8), (2, 10), (1, 15):  # F_SETOWN, F_SETSIG, F_SETOWN_EX
        yield (_JUMP_EQUAL, steps, 0, command)
    yield from ((_RETURN, 0, 0, _ALLOW), refuse)
    yield (_RETURN, 0, 0, _ALLOW)


def _done(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
