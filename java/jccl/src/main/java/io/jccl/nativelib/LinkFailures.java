package io.jccl.nativelib;

import java.nio.file.Path;

/** Explains the messages of the dynamic linker, with remedies. */
final class LinkFailures {

    private LinkFailures() {}

    /** Returns true if the JVM refused a library because another class loader has loaded the same file. */
    static boolean isOfAnotherLoader(Throwable failure) {
        return failure instanceof UnsatisfiedLinkError
                && String.valueOf(failure.getMessage()).contains("already loaded in another classloader");
    }

    /**
     * Returns the meaning of a linker's message and the remedy, for an exception.
     *
     * @param library the library that could not be loaded
     * @param linkerMessage the linker's message; may be null
     */
    static String explain(Path library, String linkerMessage) {
        String message = String.valueOf(linkerMessage);
        String start = "library=" + library + ": ";
        if (message.contains("failed to map segment") || message.contains("Operation not permitted")) {
            return start + "directory=" + library.getParent() + " is on a file system that forbids executing (noexec);"
                    + " name another with -Djava.io.tmpdir, or a library elsewhere with -D"
                    + NativeLibraryFinder.PATH_PROPERTY + " (" + message + ")";
        }
        if (message.contains("GLIBC")) {
            return start
                    + "needs a newer C library than this host has; take a released jar, which needs glibc 2.28, or"
                    + " build JCCL on this host (" + message + ")";
        }
        if (message.contains("Error loading shared library") || message.contains("Error relocating")) { // of musl
            return start
                    + "this host's C library is musl: expected glibc; use an image with glibc, such as one of"
                    + " Debian, Ubuntu or RHEL instead of Alpine (" + message + ")";
        }
        if (message.contains("cannot open shared object file")) {
            return start + "a library that it needs is missing; install what the message names (" + message + ")";
        }
        return start + message;
    }
}
