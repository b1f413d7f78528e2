package io.jccl.cli.output;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.OptionalInt;

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

    /** Returns true if a stream of this process is a terminal; false where that cannot be known. */
    public static boolean isTerminal(Stream stream) {
        String target = target(stream);
        return target.startsWith("/dev/pts/") || target.startsWith("/dev/tty") || target.equals("/dev/console");
    }

    /** Returns true if a stream of this process is a pipe or a socket; false where that cannot be known. */
    public static boolean isPipe(Stream stream) {
        String target = target(stream);
        return target.startsWith("pipe:") || target.startsWith("socket:");
    }

    /** The file behind a stream; empty where that cannot be known. */
    private static String target(Stream stream) {
        try {
            return Files.readSymbolicLink(Path.of("/proc/self/fd/" + stream.ordinal()))
                    .toString();
        } catch (IOException | UnsupportedOperationException e) {
            return "";
        }
    }

    /** The width of the terminal that standard output is, in characters; empty if it is none or does not say. */
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
        } catch (IOException | NumberFormatException e) { // no such program, as in a small image
            return OptionalInt.empty();
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
