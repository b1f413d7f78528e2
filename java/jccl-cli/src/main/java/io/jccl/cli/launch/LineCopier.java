package io.jccl.cli.launch;

import io.jccl.internal.ServiceThread;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Copies a rank's output line by line, each with a prefix, so that lines of several ranks do not mix. */
final class LineCopier {

    private static final int MAX_LINE_BYTES = 1 << 16;

    private final InputStream from;
    private final PrintStream to;
    private final byte[] prefix;
    private final byte[] chunk = new byte[8192];
    private final ByteArrayOutputStream line = new ByteArrayOutputStream();
    private int at; // index of the next byte in the chunk
    private int end; // number of bytes that were read into the chunk

    LineCopier(InputStream from, PrintStream to, String prefix) {
        this.from = from;
        this.to = to;
        this.prefix = prefix.getBytes(StandardCharsets.UTF_8);
    }

    /** Starts a thread that copies until the end of the stream. */
    Thread start(String name) {
        Thread thread = ServiceThread.repeating(name, this::copyChunk);
        thread.start();
        return thread;
    }

    /**
     * Copies the bytes that have arrived; returns false at the end of the stream. If the JVM throws an error, the next
     * call continues with the byte at which the error occurred. Copying must not stop, because a rank blocks if nobody
     * reads its output.
     */
    private boolean copyChunk() {
        for (; at < end; at++) {
            if (chunk[at] == '\n' || line.size() >= MAX_LINE_BYTES) {
                flush();
            }
            if (chunk[at] != '\n') {
                line.write(chunk[at]);
            }
        }
        at = 0;
        end = 0;
        try {
            end = from.read(chunk);
        } catch (IOException e) {
            end = -1; // the rank was killed and its stream closed: its output has been copied
        }
        if (end < 0 && line.size() > 0) {
            flush();
        }
        return end >= 0;
    }

    private void flush() {
        byte[] bytes = Arrays.copyOf(prefix, prefix.length + line.size() + 1); // can fail, so before any change
        System.arraycopy(line.toByteArray(), 0, bytes, prefix.length, line.size());
        bytes[bytes.length - 1] = '\n';
        synchronized (to) {
            to.write(bytes, 0, bytes.length);
            to.flush();
        }
        line.reset();
    }
}
