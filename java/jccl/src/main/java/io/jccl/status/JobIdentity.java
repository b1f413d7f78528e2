package io.jccl.status;

import io.jccl.UniqueId;
import io.jccl.launch.Launch;
import io.jccl.membership.Bootstrap;
import io.jccl.wire.Handshake;
import io.jccl.wire.SessionKeys;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Optional;

/**
 * The name of a job, and the key with which it can be looked into from another host.
 *
 * @param name a short name, the same in all processes of the job; not secret
 * @param key a key that is derived from the job's secret; empty if it is not known yet, or if others could guess it
 * @param guessable true if others could guess the secret
 */
public record JobIdentity(String name, Optional<Key> key, boolean guessable) {

    private static final String PURPOSE = "status";
    private static final int NAME_BYTES = 4;

    /**
     * A key that its text form does not show.
     *
     * @param bytes the key
     */
    public record Key(byte[] bytes) {

        @Override
        public String toString() {
            return "(not shown)";
        }
    }

    /** Returns the job of the ranks that have an id. */
    public static JobIdentity of(UniqueId id) {
        return of(SessionKeys.jobKey(id.secret()), false);
    }

    /** Returns the job to which the ranks of a group belong. */
    public static JobIdentity of(Bootstrap group) {
        return of(group.jobKey(), false);
    }

    /**
     * Returns the job that a launcher has started. If its ranks meet by a file, the key is not known before they have
     * met.
     */
    public static JobIdentity of(Launch launch) {
        if (launch.rendezvous() instanceof Launch.Address address) {
            return of(SessionKeys.jobKey(address.secret().key()), address.guessable());
        }
        String path = ((Launch.SharedFile) launch.rendezvous())
                .path()
                .toAbsolutePath()
                .normalize()
                .toString();
        return new JobIdentity(name(path.getBytes(StandardCharsets.UTF_8)), Optional.empty(), false);
    }

    /**
     * Returns the job of a secret as users write it: the text of a {@link UniqueId}, or the secret in JCCL_RENDEZVOUS.
     */
    public static JobIdentity ofSecret(String text) {
        return text.startsWith("jccl1:")
                ? of(UniqueId.parse(text))
                : of(SessionKeys.jobKey(new Launch.Secret(text).key()), false);
    }

    /** Returns the identity of this job after its ranks have met. */
    JobIdentity met(Bootstrap group) {
        return of(group.jobKey(), guessable);
    }

    /** Returns the key of one communicator, derived from the secret that its members share. */
    static byte[] memberKey(byte[] secret) {
        return Handshake.derive(secret, PURPOSE);
    }

    private static JobIdentity of(byte[] jobKey, boolean guessable) {
        Optional<Key> key = guessable ? Optional.empty() : Optional.of(new Key(Handshake.derive(jobKey, PURPOSE)));
        return new JobIdentity(name(jobKey), key, guessable);
    }

    /** Returns the name of the job that has a key. */
    static String name(byte[] key) {
        return HexFormat.of().formatHex(Handshake.derive(key, "name"), 0, NAME_BYTES);
    }
}
