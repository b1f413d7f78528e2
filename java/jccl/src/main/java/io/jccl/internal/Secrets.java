package io.jccl.internal;

/** Keeps secrets out of what logs and messages show. */
public final class Secrets {

    private Secrets() {}

    /** Returns a rendezvous without its secret, with which anybody could join the job. */
    public static String hidden(String rendezvous) {
        if (rendezvous.startsWith("file:")) {
            return rendezvous;
        }
        // The text of a UniqueId is no rendezvous, but all of it is secret.
        return rendezvous.replaceFirst("(?s)(^jccl1:|/).*", "$1…");
    }
}
