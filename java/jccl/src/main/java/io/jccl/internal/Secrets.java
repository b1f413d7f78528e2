package io.jccl.internal;

import java.util.HashSet;
import java.util.Optional;
import java.util.Set;

/** Hides secrets in texts for logs and messages, and finds out whether others could guess them. */
public final class Secrets {

    /** A secret of a user needs as many characters as 80 random bits have in hexadecimal digits. */
    private static final int MIN_CHARS = 20;

    /** The smallest estimate of the number of bits that an attacker has to guess. */
    private static final int MIN_BITS = 64;

    private Secrets() {}

    /**
     * Returns why others could guess a secret; empty if there is no sign of it. Each of n characters counts for the
     * logarithm of the number of different ones among them, which is an estimate: words count for more than they are.
     */
    public static Optional<String> weakness(String secret) {
        long distinct = secret.chars().distinct().count();
        long bits = Math.round(secret.length() * Math.log(Math.max(1, distinct)) / Math.log(2));
        if (secret.length() >= MIN_CHARS && bits >= MIN_BITS) {
            return Optional.empty();
        }
        return Optional.of("its secret has " + secret.length() + " characters, " + distinct
                + " different ones: expected" + " at least " + MIN_CHARS + " random ones");
    }

    /** Returns true if bytes that should be random are obviously not. */
    public static boolean areGuessable(byte[] secret) {
        Set<Byte> distinct = new HashSet<>();
        for (byte one : secret) {
            distinct.add(one);
        }
        return distinct.size() <= secret.length / 2; // less than 1 of 10^9 random secrets of 16 bytes
    }

    /** Returns a rendezvous without its secret, which would let anyone join the job. */
    public static String hidden(String rendezvous) {
        if (rendezvous.startsWith("file:")) {
            return rendezvous;
        }
        // A UniqueId's text is not a rendezvous, but all of it is secret.
        return rendezvous.replaceFirst("(?s)(^jccl1:|/).*", "$1…");
    }
}
