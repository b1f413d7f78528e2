package io.jccl.integration;

import io.jccl.DataBuffer;
import io.jccl.HostBuffer;
import io.jccl.UniqueId;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.function.Supplier;

/**
 * Calls functions that need the native library, and one that does not; prints a line for each. The optional argument is
 * a file to map first, as another host would map its C library.
 */
final class UnsupportedHostMain {

    private UnsupportedHostMain() {}

    public static void main(String[] args) throws IOException {
        MappedByteBuffer mapped = args.length == 0 ? null : map(Path.of(args[0]));
        attempt("rendezvous", UniqueId::create);
        attempt("allocate", () -> HostBuffer.allocate(4096));
        attempt("direct", () -> DataBuffer.of(ByteBuffer.allocateDirect(16)));
        attempt("array", () -> DataBuffer.of(new float[3]));
        if (mapped != null) {
            mapped.get(0); // keeps the file mapped until here
        }
    }

    private static MappedByteBuffer map(Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file)) {
            return channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size());
        }
    }

    private static void attempt(String name, Supplier<Object> action) {
        String outcome;
        try {
            outcome = action.get().toString();
        } catch (RuntimeException | Error e) {
            outcome = e.getClass().getSimpleName() + ": " + e.getMessage();
        }
        System.out.println(name + ": " + outcome);
    }
}
