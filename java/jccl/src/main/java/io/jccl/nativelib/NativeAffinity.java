package io.jccl.nativelib;

import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;

/** Binds threads of this process to processors. A set of processors has one bit for each. */
public final class NativeAffinity {

    private static final int THIS_THREAD = 0;
    private static final int OK = 0;
    private static final int NO_SUCH_THREAD = 3; // ESRCH

    private NativeAffinity() {}

    /**
     * Binds the calling thread, and the threads and processes that it starts from now on.
     *
     * @throws IOException if the system refuses
     */
    public static void bindThread(BigInteger processors) throws IOException {
        NativeLoader.load();
        check(bind(THIS_THREAD, words(processors)), processors);
    }

    /**
     * Binds all threads of this process, and the threads that they start from now on.
     *
     * @throws IOException if the system refuses
     */
    public static void bindProcess(BigInteger processors) throws IOException {
        NativeLoader.load();
        long[] words = words(processors);
        Set<Long> bound = new HashSet<>();
        // Repeats until no thread is new, because a thread that was not bound yet may have started others.
        for (int before = -1; before != bound.size(); ) {
            before = bound.size();
            try (DirectoryStream<Path> threads = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
                for (Path thread : threads) {
                    long id = Long.parseLong(thread.getFileName().toString());
                    if (bound.add(id)) {
                        int error = bind(id, words);
                        check(error == NO_SUCH_THREAD ? OK : error, processors); // a thread may have ended
                    }
                }
            }
        }
    }

    private static long[] words(BigInteger processors) {
        long[] words = new long[processors.bitLength() / Long.SIZE + 1];
        for (int word = 0; word < words.length; word++) {
            words[word] = processors.shiftRight(word * Long.SIZE).longValue();
        }
        return words;
    }

    private static void check(int error, BigInteger processors) throws IOException {
        if (error != OK) {
            throw new IOException("sched_setaffinity: mask=0x" + processors.toString(16) + " errno=" + error);
        }
    }

    /** Returns 0, or the system's error number. */
    private static native int bind(long thread, long[] mask);
}
