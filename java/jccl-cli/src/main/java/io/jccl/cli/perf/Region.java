package io.jccl.cli.perf;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.Registration;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Optional;
import java.util.zip.CRC32C;

/** The memory of one buffer under test, which operations access as elements and checks as bytes. */
interface Region extends AutoCloseable {

    /** Size limit of a region in an NIO buffer, which needs some more bytes for alignment. */
    long MAX_NIO_BYTES = Integer.MAX_VALUE - 128L;

    /** Returns elements as a buffer for an operation. */
    DataBuffer elements(long offset, long count, DataType type);

    /** Returns bytes in native order. The buffer is valid until the next call. */
    ByteBuffer read(long offsetBytes, int lengthBytes);

    /** Writes all remaining bytes of the source. */
    void write(long offsetBytes, ByteBuffer source);

    @Override
    void close();

    /** Sets all bytes of a range to a value. */
    default void set(byte value, long offsetBytes, long bytes) {
        ByteBuffer blank = ByteBuffer.allocate((int) Math.min(bytes, 1 << 16));
        Arrays.fill(blank.array(), value);
        for (long done = 0; done < bytes; done += blank.capacity()) {
            int length = (int) Math.min(blank.capacity(), bytes - done);
            write(offsetBytes + done, blank.slice(0, length));
        }
    }

    /** Adds a range to a checksum. */
    default void addTo(CRC32C checksum, long offsetBytes, long bytes) {
        for (long done = 0; done < bytes; done += 1 << 20) {
            checksum.update(read(offsetBytes + done, (int) Math.min(1 << 20, bytes - done)));
        }
    }

    /**
     * Allocates memory of a kind; all ranks do this together.
     *
     * @param device device of the rank; present for memory of devices
     * @throws IllegalArgumentException if this kind of memory cannot be that large
     */
    static Region allocate(Communicator communicator, MemoryKind kind, long bytes, Optional<Integer> device) {
        if (kind != MemoryKind.SHARED && kind != MemoryKind.DEVICE && bytes > MAX_NIO_BYTES) {
            throw new IllegalArgumentException("memory=" + kind.label() + " bytes=" + bytes
                    + ": a Java buffer of this kind holds less than 2 GiB; use --memory shared, or lower -e");
        }
        return switch (kind) {
            case DIRECT -> new Nio(ByteBuffer.allocateDirect((int) bytes + 128).alignedSlice(64));
            case HEAP -> new Nio(ByteBuffer.wrap(new byte[(int) bytes]));
            case REGISTERED -> Nio.registered(communicator, (int) bytes);
            case SHARED -> new Shared(HostBuffer.allocate(bytes));
            case DEVICE -> new DeviceRegion(device.orElseThrow(), bytes);
        };
    }

    /** A direct or heap buffer. */
    final class Nio implements Region {
        private final ByteBuffer memory;
        private final Runnable end;

        Nio(ByteBuffer memory) {
            this(memory, () -> {});
        }

        /** @param end called when the buffer is no longer used; the garbage collector frees its memory */
        private Nio(ByteBuffer memory, Runnable end) {
            this.memory = memory;
            this.end = end;
        }

        /** Creates a buffer whose memory is an allocation of its own, and registers it. */
        static Nio registered(Communicator communicator, int bytes) {
            ByteBuffer memory = ByteBuffer.allocateDirect(bytes + 128); // registered with its padding
            Registration registration = communicator.register(DataBuffer.of(memory));
            return new Nio(memory.alignedSlice(64), registration::close);
        }

        @Override
        public DataBuffer elements(long offset, long count, DataType type) {
            return DataBuffer.of(window(offset * type.bytes(), Math.toIntExact(count * type.bytes())), type);
        }

        private ByteBuffer window(long offsetBytes, int lengthBytes) {
            return memory.slice(Math.toIntExact(offsetBytes), lengthBytes).order(ByteOrder.nativeOrder());
        }

        @Override
        public ByteBuffer read(long offsetBytes, int lengthBytes) {
            return window(offsetBytes, lengthBytes);
        }

        @Override
        public void write(long offsetBytes, ByteBuffer source) {
            window(offsetBytes, source.remaining()).put(source);
        }

        @Override
        public void close() {
            end.run();
        }
    }

    /** Memory that the other ranks of this host read in place. */
    final class Shared implements Region {
        private final HostBuffer memory;

        Shared(HostBuffer memory) {
            this.memory = memory;
        }

        @Override
        public DataBuffer elements(long offset, long count, DataType type) {
            return memory.slice(offset * type.bytes(), count, type);
        }

        @Override
        public ByteBuffer read(long offsetBytes, int lengthBytes) {
            return memory.asByteBuffer(offsetBytes, lengthBytes);
        }

        @Override
        public void write(long offsetBytes, ByteBuffer source) {
            memory.asByteBuffer(offsetBytes, source.remaining()).put(source);
        }

        @Override
        public void close() {
            memory.close();
        }
    }
}
