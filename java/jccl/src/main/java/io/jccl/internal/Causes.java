package io.jccl.internal;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;

/**
 * Describes exceptions as text for messages. The text is never empty, and names the resource limit if the exception is
 * due to one.
 */
public final class Causes {

    private static final int MAX_DEPTH = 5;
    private static final String OURS = "io.jccl.";

    /**
     * Classes of exceptions whose message is a sentence. Messages of other classes may be only a name or a path, or may
     * be empty.
     */
    private static final Set<String> SPEAKING = Set.of(
            "java.io.IOException",
            "java.io.EOFException",
            "java.io.UncheckedIOException",
            "java.net.BindException",
            "java.net.ConnectException",
            "java.net.NoRouteToHostException",
            "java.net.PortUnreachableException",
            "java.net.SocketException",
            "java.net.SocketTimeoutException",
            "java.nio.file.FileSystemException",
            "java.lang.IllegalArgumentException",
            "java.lang.IllegalStateException",
            "java.lang.UnsatisfiedLinkError",
            "java.lang.UnsupportedOperationException");

    private Causes() {}

    /**
     * Loads the classes and reads the limits that messages need, while the process still has file descriptors to do so.
     */
    public static void prepare() {
        describe(new IOException("nothing"));
    }

    /**
     * Describes an exception, for the text after a colon. The description consists of its message, with the name of its
     * class if the message alone explains nothing; then its causes, unless the message is a sentence of this library,
     * which includes them; then the limit that was reached, if any.
     */
    public static String describe(Throwable exception) {
        Set<Throwable> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        StringBuilder text = new StringBuilder();
        Throwable one = exception;
        for (int depth = 0; one != null && depth < MAX_DEPTH && seen.add(one); depth++, one = one.getCause()) {
            if (!wraps(one)) {
                append(text, one);
            }
            if (explains(one)) {
                break;
            }
        }
        String hint = ResourceLimits.ofThisProcess().hint(text.toString());
        return text.indexOf(hint) >= 0
                ? text.toString()
                : text + hint; // a sentence of this library may contain the hint already
    }

    private static void append(StringBuilder text, Throwable exception) {
        String message = exception.getMessage();
        boolean silent = message == null || message.isBlank();
        String type = exception.getClass().getSimpleName();
        String name = type.isEmpty() ? exception.getClass().getName() : type;
        if (text.length() > 0 && text.indexOf(silent ? name : message.strip()) >= 0) {
            return;
        }
        text.append(text.length() == 0 ? "" : "; caused by ");
        text.append(silent ? name : speaks(exception) ? message : name + ": " + message);
    }

    /** Returns true if an exception has no message of its own, only its cause's. */
    private static boolean wraps(Throwable exception) {
        Throwable cause = exception.getCause();
        return cause != null && cause != exception && cause.toString().equals(exception.getMessage());
    }

    /** Returns true if an exception's message is a sentence of this library, which includes the cause. */
    private static boolean explains(Throwable exception) {
        String message = exception.getMessage();
        boolean silent = message == null || message.isBlank();
        return !silent
                && !wraps(exception)
                && (exception.getClass().getName().startsWith(OURS)
                        || exception.getClass() == IllegalArgumentException.class
                        || exception.getClass() == IllegalStateException.class);
    }

    private static boolean speaks(Throwable exception) {
        String name = exception.getClass().getName();
        return name.startsWith(OURS)
                || SPEAKING.contains(name)
                || exception instanceof FileSystemException file && file.getReason() != null;
    }
}
