package io.jccl.cli.output;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** What is known about the streams of this process: whether they are terminals, and whether colours are wanted. */
public final class Terminal {

    /** The standard streams by their descriptors. */
    public enum Stream {
        /** Standard input. */
        IN,
        /** Standard output. */
        OUT,
        /** Standard error. */
        ERR
    }

    private Terminal() {}

    /** Whether a stream of this process is a terminal; false where that cannot be known. */
    public static boolean isTerminal(Stream stream) {
        try {
            String target = Files.readSymbolicLink(Path.of("/proc/self/fd/" + stream.ordinal()))
                    .toString();
            return target.startsWith("/dev/pts/") || target.startsWith("/dev/tty") || target.equals("/dev/console");
        } catch (IOException | UnsupportedOperationException e) {
            return false;
        }
    }

    /** Whether to write colours to a stream: it is a terminal, and neither NO_COLOR nor TERM=dumb speaks against it. */
    public static boolean colours(Stream stream) {
        return colours(isTerminal(stream), System.getenv());
    }

    static boolean colours(boolean terminal, Map<String, String> environment) {
        return terminal
                && environment.getOrDefault("NO_COLOR", "").isEmpty()
                && !"dumb".equals(environment.get("TERM"));
    }
}
