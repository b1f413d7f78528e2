"""Reads the images, cubins and instructions that NVIDIA's tools make of kernels, without NVIDIA's disassembler.

Of an instruction it reads the fields that scripts/check-kernels needs. Instructions have 128 bits, with the fields at
these places, since compute capability 7.5. cuda/test/check_kernels_test compares the fields with the PTX from which the
assembler made the instructions, for every architecture.
"""

import struct

LOADS = {0x181: "global", 0x180: "generic", 0x183: "local"}
STORES = {0x186: "global", 0x185: "generic", 0x187: "local"}
ATOMICS = {0x1A8, 0x1A9, 0x18E}  # on global memory: with a result; an exchange; without a result
MEMBAR, BRA, BRX, CALL, RET, EXIT = 0x192, 0x147, 0x149, (0x143, 0x144), 0x150, 0x14D
BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 8, 6: 16}
# Maps the bits of an instruction to the memory scope of its access. "constant" means the read-only path, which can
# return stale data.
SCOPES_75 = {0x7: "weak", 0x3: "constant", 0x8: "cta", 0xA: "gpu", 0xB: "sys"}
SCOPES = {0x0: "weak", 0x4: "constant", 0x5: "cta", 0x7: "gpu", 0xA: "sys"}
FENCE_SCOPES = {0: "cta", 2: "gpu", 3: "sys"}


class Instruction:
    """One instruction of an architecture (80 for sm_80)."""

    def __init__(self, address, words, architecture):
        self.address = address
        self._word = words[0] | words[1] << 64
        self._architecture = architecture
        self.operation = self._bits(0, 9)

    def _bits(self, begin, end):
        return self._word >> begin & (1 << end - begin) - 1

    @property
    def space(self):
        """The memory that a load or store accesses; None for other instructions."""
        return LOADS.get(self.operation) or STORES.get(self.operation)

    @property
    def is_load(self):
        return self.operation in LOADS

    @property
    def bytes(self):
        return BYTES.get(self._bits(73, 76), 0)

    @property
    def scope(self):
        """The scope of a load, store or atomic operation: weak, constant, cta, gpu or sys; or a text with the unknown code."""
        code = self._bits(77, 81)
        return (SCOPES_75 if self._architecture == 75 else SCOPES).get(code, f"unknown ({code:#x})")

    @property
    def fence_scope(self):
        code = self._bits(76, 78)
        return FENCE_SCOPES.get(code, f"unknown ({code})")

    @property
    def signals(self):
        """The scoreboard that a load releases when its data has arrived; 7 means none."""
        return self._bits(110, 113)

    @property
    def waits(self):
        """The scoreboards for which the instruction waits, as a bit mask."""
        return self._bits(116, 122)

    @property
    def target(self):
        """The address to which a direct branch goes."""
        offset = self._bits(34, 82)
        if offset >> 47:
            offset -= 1 << 48
        # From capability 9.0 on, the lowest eight bits of the offset are in a field of their own.
        return self.address + 16 + 4 * (offset << 8 | self._bits(16, 24) if self._architecture >= 90 else offset)

    @property
    def ends_block(self):
        return self.operation in (BRA, BRX, RET, EXIT) or self.operation in CALL


def sections(data):
    """Yields the name and the contents of each section of an ELF file."""
    table, = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(count)]
    for name, kind, _, _, offset, length in headers:
        begin = headers[names][4] + name
        yield data[begin:data.index(b"\0", begin)].decode(), b"" if kind == 8 else data[offset:offset + length]


def kernels(path, architecture):
    """Yields the name and the instructions of each kernel of a cubin, including those of the functions that it calls."""
    for name, text in sections(path.read_bytes()):
        if name.startswith(".text."):
            yield name.removeprefix(".text."), [
                Instruction(at, struct.unpack_from("<QQ", text, at), architecture) for at in range(0, len(text), 16)]


def images(path):
    """Yields the kind ("elf" or "ptx"), architecture and name of each entry of an image."""
    data = path.read_bytes()
    magic, _, header, length = struct.unpack_from("<IHHQ", data)
    if magic != 0xBA55ED50:
        raise ValueError(f"{path}: no image, magic={magic:#x}")
    at, end = header, header + length
    while at < end:
        kind, _, header, length = struct.unpack_from("<HHIQ", data, at)
        architecture, name, size = struct.unpack_from("<III", data, at + 28)
        yield {1: "ptx", 2: "elf"}.get(kind, str(kind)), architecture, data[at + name:at + name + size].decode()
        at += header + length


def moving_loops(code):
    """Returns the first and last address of each loop that moves data: the innermost one around a 16-byte access."""
    loops = {(one.target, one.address) for one in code if one.operation == BRA and one.target < one.address}
    around = ([(end - begin, begin, end) for begin, end in loops if begin <= one.address <= end]
              for one in code if one.space == "global" and one.bytes == 16)
    return sorted({min(every)[1:] for every in around if every})


def full_loops(code, bytes, least):
    """Returns how many loops that move data have at least `least` loads of this many bytes in flight, branches included."""
    full = 0
    for begin, end in moving_loops(code):
        waiting, most = {}, 0
        for one in code[begin // 16:end // 16 + 1]:
            for scoreboard in [s for s in waiting if one.waits >> s & 1]:
                del waiting[scoreboard]
            if one.is_load and one.space != "local" and one.bytes == bytes:
                waiting[one.signals] = waiting.get(one.signals, 0) + 1
                most = max(most, sum(waiting.values()))
        full += most >= least
    return full


def loads_in_flight(code, bytes):
    """Returns how many loads of this many bytes a thread has in flight at most, without a branch between them."""
    starts = {one.target for one in code if one.operation == BRA}
    waiting, most = {}, 0
    for one in code:
        if one.address in starts:
            waiting.clear()
        for scoreboard in [s for s in waiting if one.waits >> s & 1]:
            del waiting[scoreboard]
        if one.is_load and one.space != "local" and one.bytes == bytes:
            waiting[one.signals] = waiting.get(one.signals, 0) + 1
            most = max(most, sum(waiting.values()))
        if one.ends_block:
            waiting.clear()
    return most
