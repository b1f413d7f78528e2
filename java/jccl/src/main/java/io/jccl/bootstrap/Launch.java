package io.jccl.bootstrap;

import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * What a launcher set for this process.
 *
 * @param launcher which launcher, for the log
 * @param rank this rank
 * @param size the number of ranks
 * @param localRank the rank among those on this host, if known
 * @param rendezvous where the ranks meet
 */
public record Launch(String launcher, int rank, int size, OptionalInt localRank, Rendezvous rendezvous) {

    /** Where the ranks of a launch meet. */
    public sealed interface Rendezvous {}

    /**
     * Rank 0 listens on a host and port.
     *
     * @param hosts names or numeric addresses of hosts on one of which rank 0 runs, the most likely first
     * @param port the port
     * @param secret the key that the ranks prove; made from the launcher's job name where no secret is given
     * @param guessable whether others could guess the secret
     * @param onlyLoopback the only address on which rank 0 listens; empty if it listens on all
     */
    public record Address(
            List<String> hosts, int port, Secret secret, boolean guessable, Optional<InetAddress> onlyLoopback)
            implements Rendezvous {

        /** An address whose text decides alone whether it is for this host only. */
        public Address(String host, int port, Secret secret, boolean guessable) {
            this(List.of(host), port, secret, guessable, HostLookup.loopback(host));
        }

        /** The host on which rank 0 most likely runs. */
        public String host() {
            return hosts.get(0);
        }

        /** For the log: a job may have thousands of hosts. */
        @Override
        public String toString() {
            return "Address[host=" + host() + ", otherHosts=" + (hosts.size() - 1) + ", port=" + port + ", guessable="
                    + guessable + "]";
        }
    }

    /**
     * Rank 0 writes its id to a file that all ranks can read.
     *
     * @param path the file; it is made by rank 0 and removed when all have met
     */
    public record SharedFile(Path path) implements Rendezvous {}

    /**
     * A secret whose text form does not show it.
     *
     * @param text what the key is made from
     */
    public record Secret(String text) {

        /** The key of a generation of groups. */
        byte[] key(int generation) {
            return Handshake.derive(bytes(), "rendezvous generation " + generation);
        }

        /** The key of what all groups of the job have in common. */
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
