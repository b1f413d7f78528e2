package io.jccl.cli.launch;

/**
 * The result of a job.
 *
 * @param status 0 if every rank ended with status 0, else the status of the first rank that did not
 * @param failedRank the first rank that did not end with status 0, or -1 if there is none
 */
public record Outcome(int status, int failedRank) {

    private static final int SIGNAL_BASE = 128;

    /** Describes an exit status, with the name of the signal if a signal ended the process. */
    public static String describe(int status) {
        String signal =
                switch (status - SIGNAL_BASE) {
                    case 1 -> "SIGHUP";
                    case 2 -> "SIGINT";
                    case 4 -> "SIGILL";
                    case 6 -> "SIGABRT";
                    case 7 -> "SIGBUS";
                    case 8 -> "SIGFPE";
                    case 9 -> "SIGKILL";
                    case 11 -> "SIGSEGV";
                    case 13 -> "SIGPIPE";
                    case 15 -> "SIGTERM";
                    default -> null;
                };
        return signal == null ? "status " + status : "status " + status + " (" + signal + ")";
    }
}
