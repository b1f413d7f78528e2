package io.jccl.cli.output;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.OptionalInt;

/** Tells whether the standard streams are terminals or pipes, how wide they are, and whether to use colours. */
public final class Terminal {

    /** The standard streams; the ordinal of each is its file descriptor. */
    public enum Stream {
        /** Standard input. */
        IN,
        /** Standard output. */
        OUT,
        /** Standard error. */
        ERR
    }

    private Terminal() {}

    /** Returns true if a stream of this process is a terminal; false if not, or if /proc is not readable. */
    public static boolean isTerminal(Stream stream) {
        String target = target(stream);
        return target.startsWith("/dev/pts/") || target.startsWith("/dev/tty") || target.equals("/dev/console");
    }

    /** Returns true if a stream of this process is a pipe or a socket; false if not, or if /proc is not readable. */
    public static boolean isPipe(Stream stream) {
        String target = target(stream);
        return target.startsWith("pipe:") || target.startsWith("socket:");
    }

    /** Returns the name of the file to which a stream leads; empty if /proc is not readable. */
    private static String target(Stream stream) {
        try {
            return Files.readSymbolicLink(Path.of("/proc/self/fd/" + stream.ordinal()))
                    .toString();
        } catch (IOException | UnsupportedOperationException e) {
            return "";
        }
    }

    /** Returns the width of standard output in characters; empty if it is not a terminal or its width is unknown. */
    public static OptionalInt width() {
        if (!isTerminal(Stream.OUT)) {
            return OptionalInt.empty();
        }
        try {
            Process stty = new ProcessBuilder("stty", "size")
                    .redirectInput(new File(target(Stream.OUT)))
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            String[] size = new String(stty.getInputStream().readAllBytes(), StandardCharsets.US_ASCII)
                    .strip()
                    .split(" ");
            int columns = size.length == 2 ? Integer.parseInt(size[1]) : 0;
            return columns > 0 ? OptionalInt.of(columns) : OptionalInt.empty();
        } catch (IOException | NumberFormatException e) { // small container images have no stty
            return OptionalInt.empty();
        }
    }

    /** Returns true if a stream is to have colours: it is a terminal, NO_COLOR is not set, and TERM is not "dumb". */
    public static boolean colours(Stream stream) {
        return colours(isTerminal(stream), System.getenv());
    }

    static boolean colours(boolean terminal, Map<String, String> environment) {
        return terminal
                && environment.getOrDefault("NO_COLOR", "").isEmpty()
                && !"dumb".equals(environment.get("TERM"));
    }
}
