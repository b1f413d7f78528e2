package io.jccl.cli.launch;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** Copies a rank's output line by line, each with a prefix, so that the lines of several ranks do not mix. */
final class LineCopier implements Runnable {

    private static final int MAX_LINE_BYTES = 1 << 16;

    private final InputStream from;
    private final PrintStream to;
    private final byte[] prefix;

    LineCopier(InputStream from, PrintStream to, String prefix) {
        this.from = from;
        this.to = to;
        this.prefix = prefix.getBytes(StandardCharsets.UTF_8);
    }

    /** Copies until the end of the stream. */
    @Override
    public void run() {
        byte[] chunk = new byte[8192];
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        try {
            for (int n = from.read(chunk); n >= 0; n = from.read(chunk)) {
                for (int i = 0; i < n; i++) {
                    if (chunk[i] == '\n' || line.size() >= MAX_LINE_BYTES) {
                        flush(line);
                    }
                    if (chunk[i] != '\n') {
                        line.write(chunk[i]);
                    }
                }
            }
        } catch (IOException e) {
            // the rank was killed and its stream closed: what it wrote before has been copied
        }
        if (line.size() > 0) {
            flush(line);
        }
    }

    private void flush(ByteArrayOutputStream line) {
        line.write('\n');
        synchronized (to) {
            to.write(prefix, 0, prefix.length);
            to.write(line.toByteArray(), 0, line.size());
            to.flush();
        }
        line.reset();
    }
}
