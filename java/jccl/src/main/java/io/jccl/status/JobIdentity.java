package io.jccl.status;

import io.jccl.UniqueId;
import io.jccl.bootstrap.Bootstrap;
import io.jccl.bootstrap.Handshake;
import io.jccl.bootstrap.Launch;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Optional;

/**
 * What names a job, and what somebody must know to look into it from another host.
 *
 * @param name a short name, the same in all processes of the job; no secret
 * @param key made from the job's secret; empty if it is not known yet, or others could guess it
 * @param guessable whether others could guess the secret
 */
public record JobIdentity(String name, Optional<Key> key, boolean guessable) {

    private static final String PURPOSE = "status";
    private static final int NAME_BYTES = 4;

    /**
     * A key whose text form does not show it.
     *
     * @param bytes the key
     */
    public record Key(byte[] bytes) {

        @Override
        public String toString() {
            return "(not shown)";
        }
    }

    /** The job of those who have an id. */
    public static JobIdentity of(UniqueId id) {
        return of(Bootstrap.jobKey(id.secret()), false);
    }

    /** The job of a group. */
    public static JobIdentity of(Bootstrap group) {
        return of(group.jobKey(), false);
    }

    /** The job that a launcher has started; of one whose ranks meet by a file the key is known when they have met. */
    public static JobIdentity of(Launch launch) {
        if (launch.rendezvous() instanceof Launch.Address address) {
            return of(Bootstrap.jobKey(address.secret().key()), address.guessable());
        }
        String path = ((Launch.SharedFile) launch.rendezvous())
                .path()
                .toAbsolutePath()
                .normalize()
                .toString();
        return new JobIdentity(name(path.getBytes(StandardCharsets.UTF_8)), Optional.empty(), false);
    }

    /** The job of a secret as users write it: the text of a {@link UniqueId}, or what they chose for JCCL_RENDEZVOUS. */
    public static JobIdentity ofSecret(String text) {
        return text.startsWith("jccl1:")
                ? of(UniqueId.parse(text))
                : of(Bootstrap.jobKey(new Launch.Secret(text).key()), false);
    }

    /** The same job, now that its ranks have met. */
    JobIdentity met(Bootstrap group) {
        return of(group.jobKey(), guessable);
    }

    /** The key of one communicator, from the secret that its members share. */
    static byte[] memberKey(byte[] secret) {
        return Handshake.derive(secret, PURPOSE);
    }

    private static JobIdentity of(byte[] jobKey, boolean guessable) {
        Optional<Key> key = guessable ? Optional.empty() : Optional.of(new Key(Handshake.derive(jobKey, PURPOSE)));
        return new JobIdentity(name(jobKey), key, guessable);
    }

    /** The name of the job of a key. */
    static String name(byte[] key) {
        return HexFormat.of().formatHex(Handshake.derive(key, "name"), 0, NAME_BYTES);
    }
}
