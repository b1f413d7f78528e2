package io.jccl.launch;

import io.jccl.internal.Secrets;
import io.jccl.rendezvous.HostLookup;
import io.jccl.wire.Handshake;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * The settings of a launcher for this process.
 *
 * @param launcher the launcher's name, for the log
 * @param rank this rank
 * @param size the number of ranks
 * @param localRank the rank among those on this host, if known
 * @param rendezvous the place where the ranks meet
 */
public record Launch(String launcher, int rank, int size, OptionalInt localRank, Rendezvous rendezvous) {

    /** The place where the ranks of a launch meet. */
    public sealed interface Rendezvous {}

    /**
     * A host and port on which rank 0 listens.
     *
     * @param hosts names or numeric addresses of hosts, one of which runs rank 0; the most likely first
     * @param port the port
     * @param secret the key that the ranks prove to know; derived from the launcher's job name if no secret is given
     * @param guessable true if others could guess the secret
     * @param onlyLoopback the only address on which rank 0 listens; empty if it listens on all
     */
    public record Address(
            List<String> hosts, int port, Secret secret, boolean guessable, Optional<InetAddress> onlyLoopback)
            implements Rendezvous {

        /**
         * Creates an address. The text of the host alone decides whether only ranks of this host can use the address.
         */
        public Address(String host, int port, Secret secret, boolean guessable) {
            this(List.of(host), port, secret, guessable, HostLookup.loopback(host));
        }

        /** Returns why others could guess the secret; empty if there is no sign that they could. */
        public Optional<String> weakness() {
            return guessable ? Optional.of("it has no secret") : Secrets.weakness(secret.text());
        }

        /** Returns the host on which rank 0 most likely runs. */
        public String host() {
            return hosts.get(0);
        }

        /** Shows one host only, because a job may have thousands. */
        @Override
        public String toString() {
            return "Address[host=" + host() + ", otherHosts=" + (hosts.size() - 1) + ", port=" + port + ", guessable="
                    + guessable + "]";
        }
    }

    /**
     * A file that all ranks can read. Rank 0 writes the unique id of its rendezvous server to this file.
     *
     * @param path the file; rank 0 creates it and removes it when all have met
     */
    public record SharedFile(Path path) implements Rendezvous {}

    /**
     * A secret whose text form does not show it.
     *
     * @param text the text from which keys are derived
     */
    public record Secret(String text) {

        /** Returns the key of one generation of groups. */
        byte[] key(int generation) {
            return Handshake.derive(bytes(), "rendezvous generation " + generation);
        }

        /** Returns the key that all groups of the job have in common. */
        public byte[] key() {
            return Handshake.derive(bytes(), "job");
        }

        private byte[] bytes() {
            byte[] label = text.getBytes(StandardCharsets.UTF_8);
            return label.length == 0 ? new byte[1] : label;
        }

        @Override
        public String toString() {
            return "(not shown)";
        }
    }
}
