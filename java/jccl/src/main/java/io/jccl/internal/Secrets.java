package io.jccl.internal;

/** Hides secrets in texts for logs and messages. */
public final class Secrets {

    private Secrets() {}

    /** Returns a rendezvous without its secret, which would let anyone join the job. */
    public static String hidden(String rendezvous) {
        if (rendezvous.startsWith("file:")) {
            return rendezvous;
        }
        // A UniqueId's text is not a rendezvous, but all of it is secret.
        return rendezvous.replaceFirst("(?s)(^jccl1:|/).*", "$1…");
    }
}
