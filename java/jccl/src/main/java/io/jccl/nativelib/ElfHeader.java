package io.jccl.nativelib;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;

/** Reads the header of an ELF file to learn which processor the file is for. */
final class ElfHeader {

    private static final int BYTES = 20;
    private static final int MAGIC = 0x7f454c46;
    private static final int DATA_OFFSET = 5;
    private static final int MACHINE_OFFSET = 18;
    private static final byte BIG_ENDIAN = 2;

    private ElfHeader() {}

    /**
     * Returns the processor of a library, named as in {@link Platform#arch()}.
     *
     * @throws NativeLoadException if the file is no ELF file
     */
    static String architecture(Path library) throws IOException {
        byte[] start;
        try (InputStream in = Files.newInputStream(library)) {
            start = in.readNBytes(BYTES);
        }
        ByteBuffer header = ByteBuffer.wrap(start);
        if (start.length < BYTES || header.getInt(0) != MAGIC) {
            throw new NativeLoadException("library=" + library + ": expected an ELF shared library, found a file of "
                    + Files.size(library) + " bytes that is none; build or download it again");
        }
        boolean bigEndian = start[DATA_OFFSET] == BIG_ENDIAN;
        header.order(bigEndian ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN);
        int machine = Short.toUnsignedInt(header.getShort(MACHINE_OFFSET));
        return switch (machine) {
            case 3 -> "x86";
            case 21 -> bigEndian ? "ppc64" : "ppc64le";
            case 22 -> "s390x";
            case 40 -> "arm";
            case 62 -> "x86_64";
            case 183 -> "aarch64";
            case 243 -> "riscv64";
            default -> "elf-machine-" + machine;
        };
    }
}
