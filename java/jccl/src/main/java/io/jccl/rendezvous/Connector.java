package io.jccl.rendezvous;

import io.jccl.BootstrapException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.PeerFailedException;
import io.jccl.internal.Causes;
import io.jccl.internal.ResourceLimits;
import io.jccl.wire.EncryptedHandshake;
import io.jccl.wire.Handshake;
import io.jccl.wire.NetworkStack;
import io.jccl.wire.Reactor;
import io.jccl.wire.Server;
import io.jccl.wire.WireException;
import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.SocketChannel;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * Connects a rank to a {@link Server}: tries the server's addresses in turn until one of them answers and proves the
 * secret. If time runs out, the exception shows the outcome of every address. For use by one thread, which may be
 * interrupted.
 */
public final class Connector {

    /** Locates a server, whose addresses may change while a rank connects. */
    @FunctionalInterface
    public interface Target {

        /**
         * Returns the server's addresses, best first, and the secret.
         *
         * @throws IOException if the addresses are not known yet
         */
        ServerAddress locate() throws IOException;
    }

    /** The addresses of a server and its secret. */
    public record ServerAddress(List<InetSocketAddress> addresses, byte[] secret) {}

    /** The conclusion from refused connections at a server's addresses. */
    public enum IfRefused {
        /** No conclusion: the server may open later. */
        NOT_OPEN_YET,
        /**
         * Rank 0, whose process contained the server, has ended. This conclusion requires that the refusal is proof,
         * that a witness confirms it, or that there is no witness.
         */
        RANK_ZERO_ENDED,
        /**
         * The server has ended. This conclusion requires that the refusal is proof: it comes from the server's own
         * network stack.
         */
        SERVER_ENDED
    }

    /** A source, other than refused connections, that knows whether the server's process has ended. */
    @FunctionalInterface
    public interface Witness {

        /**
         * Returns true if the server's process has ended.
         *
         * @throws JcclException if the group has failed
         */
        boolean hasEnded();
    }

    /**
     * Time after which a rank gives up connecting to a relay if no address answers. The rank can work without the
     * relay.
     */
    private static final long MAX_UNANSWERED_NANOS = TimeUnit.SECONDS.toNanos(10);

    private static final long HANDSHAKE_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final int MAX_REFUSALS = 5;
    private static final int MAX_DEAD_ROUNDS = 3;

    /**
     * The number of rounds in a row that may exhaust a resource of this process or host before the connector gives up.
     * These rounds and the pauses between them take half a second.
     */
    private static final int MAX_EXHAUSTED_ROUNDS = 6;

    private static final long MIN_BACKOFF_MILLIS = 10;
    private static final long MAX_BACKOFF_MILLIS = 250;
    private static final long FIRST_CONNECT_MILLIS = 500;
    private static final long MAX_CONNECT_MILLIS = 5000;

    private final Handshake.Purpose purpose;
    private final String who;
    private final boolean retriesRefusals;
    private final IfRefused ifRefused;
    private final int generation;
    private boolean encrypted;
    private final Map<String, String> outcomes = new LinkedHashMap<>();
    private int refusals;
    private int refusedProofs;
    private int deadRounds; // number of successive dead rounds, see round()
    // number of successive rounds in which a resource of this process or host was exhausted
    private int exhaustedRounds;
    private boolean exhausted; // true if a resource was exhausted in this round
    private boolean answered; // true if an address accepted a connection in this round
    private boolean asked; // true if an address that leads to the server's host was tried in this round
    // the evidence from the first address that leads to the server's host
    private NetworkStack.Evidence refusedFirst = NetworkStack.Evidence.NONE;
    private Witness witness; // null if there is none

    /**
     * Creates a connector.
     *
     * @param who this rank, for messages
     * @param retriesRefusals true to try again after a refused proof, because another server may use the address for a
     *     while
     * @param ifRefused the conclusion if nobody listens at the server's addresses
     * @param generation the generation of the group
     */
    public Connector(
            Handshake.Purpose purpose, String who, boolean retriesRefusals, IfRefused ifRefused, int generation) {
        this.purpose = purpose;
        this.who = who;
        this.retriesRefusals = retriesRefusals;
        this.ifRefused = ifRefused;
        this.generation = generation;
    }

    /** Sets whether the connection is encrypted, which it is not by default. */
    public Connector encrypting(boolean value) {
        encrypted = value;
        return this;
    }

    /** Sets a witness that must confirm each refusal that is not proof. */
    public Connector withWitness(Witness of) {
        witness = of;
        return this;
    }

    /**
     * Connects by a deadline of {@link System#nanoTime}.
     *
     * @throws BootstrapException if the server refuses this rank, or has ended
     * @throws PeerFailedException if rank 0, whose process had the server, has ended
     * @throws CommunicationTimeoutException if the server was not reached in time
     * @throws InterruptedCommunicationException if this thread is interrupted
     */
    public FrameStream connect(Target target, long deadlineNanos) {
        long start = System.nanoTime();
        long backoffMillis = MIN_BACKOFF_MILLIS;
        long connectMillis = FIRST_CONNECT_MILLIS;
        while (true) {
            FrameStream stream = round(target, connectMillis, deadlineNanos);
            if (stream != null) {
                return stream;
            }
            boolean dispensable = purpose == Handshake.Purpose.RELAY && !answered;
            long end = dispensable ? Math.min(deadlineNanos, start + MAX_UNANSWERED_NANOS) : deadlineNanos;
            long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
            if (!retriesRefusals && refusals >= (left > 0 ? MAX_REFUSALS : 1)) {
                throw new BootstrapException(who + " was refused by the " + name() + ": the secret of the id is not the"
                        + " group's, or the group has ended and another has its port; pass the same UniqueId to all ranks."
                        + " Addresses tried:" + table());
            }
            if (exhaustedRounds >= MAX_EXHAUSTED_ROUNDS) {
                throw new BootstrapException(who + " cannot connect to the " + name()
                        + ": the reason is in this process or host. Addresses tried:" + table());
            }
            if (hasEnded()) {
                throw ended();
            }
            if (left <= 0) {
                throw late(dispensable ? "it" : "rank 0", System.nanoTime() - start);
            }
            sleep(Math.min(backoffMillis, left));
            backoffMillis = Math.min(MAX_BACKOFF_MILLIS, backoffMillis * 2);
            connectMillis = Math.min(MAX_CONNECT_MILLIS, connectMillis * 2);
        }
    }

    /** Returns true if the server's process is known to have ended. */
    private boolean hasEnded() {
        boolean witnessed = witness != null && witness.hasEnded();
        if (deadRounds < MAX_DEAD_ROUNDS) {
            return false;
        }
        return switch (ifRefused) {
            case NOT_OPEN_YET -> false;
            case RANK_ZERO_ENDED -> isProved() || witness == null || witnessed;
            case SERVER_ENDED -> isProved();
        };
    }

    private boolean isProved() {
        return refusedFirst == NetworkStack.Evidence.PROOF;
    }

    private JcclException late(String server, long nanos) {
        String refused = deadRounds == 0
                ? ""
                : " A refused connection alone does not show that it has ended: a firewall refuses too, and so does"
                        + " another host that has such an address.";
        return new CommunicationTimeoutException(
                who + " did not reach the " + name() + " in " + TimeUnit.NANOSECONDS.toMillis(nanos) + " ms; is "
                        + server + " running, and is one of its addresses reachable from here?" + refused
                        + " Choose its interface with JCCL_SOCKET_IFNAME, or raise JCCL_INIT_TIMEOUT. Addresses tried:"
                        + table(),
                Set.of(0),
                null);
    }

    private JcclException ended() {
        String tried = "; nobody listens there any more. Addresses tried:" + table();
        if (purpose == Handshake.Purpose.RELAY) {
            return new BootstrapException(who + " looked for the " + name() + ", which refuses connections:" + table());
        }
        return ifRefused == IfRefused.RANK_ZERO_ENDED
                ? new PeerFailedException(
                        who + " looked for the " + name() + ", which has ended or closed its communicator" + tried,
                        Set.of(0),
                        null)
                : new BootstrapException(who
                        + " looked for the rendezvous server of its UniqueId: the process that created the id has"
                        + " ended, or the group of the id was initialised or failed before this rank came; create a"
                        + " new id"
                        + tried);
    }

    /**
     * Tries each address once. Returns null if none led to a connection. A round is dead if the best address that leads
     * to the server's host refuses and no other address accepts a connection.
     */
    private FrameStream round(Target target, long connectMillis, long deadlineNanos) {
        ServerAddress server;
        try {
            server = target.locate();
        } catch (IOException e) {
            outcomes.put("(address of the rendezvous server)", Causes.describe(e));
            return null;
        }
        answered = false;
        refusedFirst = NetworkStack.Evidence.NONE;
        asked = false;
        exhausted = false;
        for (InetSocketAddress address : server.addresses()) {
            long left = TimeUnit.NANOSECONDS.toMillis(deadlineNanos - System.nanoTime());
            if (left <= 0) {
                outcomes.putIfAbsent(address.toString(), "not tried: no time was left");
                continue;
            }
            long handshakeEnd = Math.min(deadlineNanos, System.nanoTime() + HANDSHAKE_NANOS);
            FrameStream stream = attempt(address, server.secret(), Math.min(connectMillis, left), handshakeEnd);
            if (stream != null) {
                return stream;
            }
        }
        if (asked) { // false if no address of the server's host was tried
            deadRounds = refusedFirst != NetworkStack.Evidence.NONE && !answered ? deadRounds + 1 : 0;
        }
        exhaustedRounds = exhausted ? exhaustedRounds + 1 : 0;
        return null;
    }

    /** Tries one address. Returns null if the attempt failed; {@link #table} shows why. */
    public FrameStream attempt(InetSocketAddress address, byte[] secret, long connectMillis, long handshakeEnd) {
        String step = "connect";
        SocketChannel channel = null;
        try {
            channel = SocketChannel.open();
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
            channel.socket().connect(address, (int) Math.max(1, connectMillis));
            step = "handshake";
            answered = true;
            FrameStream stream = new FrameStream(channel);
            if (encrypted) {
                EncryptedHandshake handshake = new EncryptedHandshake(secret, purpose, generation);
                byte[] greeting = handshake.greeting();
                stream.write(greeting);
                byte[] header = stream.read(Handshake.HEADER_BYTES, handshakeEnd);
                step = "proof";
                if (Handshake.isPlain(header)) {
                    throw refuseToGoWithout(stream, address, secret, greeting, handshakeEnd);
                }
                Handshake.requireEncrypted(header, generation);
                stream.encrypt(handshake, stream.read(EncryptedHandshake.MESSAGE_BYTES, handshakeEnd));
                return stream;
            }
            byte[] nonce = Handshake.randomBytes(Handshake.NONCE_BYTES);
            stream.write(Handshake.greeting(nonce, generation));
            byte[] serverNonce = Handshake.nonceOf(stream.read(Handshake.GREETING_BYTES, handshakeEnd), generation);
            stream.write(Handshake.rankProof(secret, purpose, nonce, serverNonce));
            step = "proof";
            byte[] proof = stream.read(Handshake.PROOF_BYTES, handshakeEnd);
            if (!Handshake.same(proof, Handshake.serverProof(secret, purpose, nonce, serverNonce))) {
                throw new WireException("the server does not know the secret");
            }
            return stream;
        } catch (IOException | WireException e) {
            if (channel != null) {
                Reactor.closeQuietly(channel);
            }
            if (e instanceof ClosedByInterruptException
                    || Thread.currentThread().isInterrupted()) {
                throw interrupted(e);
            }
            noteEvidence(address, e);
            exhausted |= ResourceLimits.isReached(e);
            boolean refused = step.equals("proof") && !(e instanceof SocketTimeoutException);
            refusedProofs += refused ? 1 : 0;
            // After a refused proof, other failures count as refusals too: a server that refused this rank and then
            // ended will never admit this rank.
            refusals += refused || refusals > 0 ? 1 : 0;
            outcomes.put(address.toString(), outcome(step, e, refused) + whose(address, e));
            return null;
        }
    }

    /**
     * Lets both ends prove the secret without encryption, so that each knows that the other belongs to the job and has
     * another setting. Nothing else is exchanged.
     *
     * @return the error for this rank
     * @throws WireException if the server does not prove the secret
     */
    private BootstrapException refuseToGoWithout(
            FrameStream stream, InetSocketAddress address, byte[] secret, byte[] greeting, long handshakeEnd)
            throws IOException {
        String remedy = "; set the same value on all ranks (JCCL_ENCRYPTION, or CommunicatorConfig.Builder.encryption)";
        try (stream) {
            byte[] nonce = Arrays.copyOfRange(greeting, Handshake.HEADER_BYTES, Handshake.GREETING_BYTES);
            byte[] serverNonce = stream.read(Handshake.NONCE_BYTES, handshakeEnd);
            stream.write(Handshake.rankProof(secret, purpose, nonce, serverNonce));
            byte[] proof = stream.read(Handshake.PROOF_BYTES, handshakeEnd);
            if (!Handshake.same(proof, Handshake.serverProof(secret, purpose, nonce, serverNonce))) {
                throw new WireException("the server does not know the secret");
            }
        } catch (EOFException e) {
            throw new WireException(
                    "the server does not encrypt and refuses our proof of the secret; it is of another job, or of an"
                            + " older version of JCCL");
        }
        return new BootstrapException("JCCL_ENCRYPTION differs between ranks: " + who + " encrypts, the " + name()
                + " at " + address + " does not" + remedy);
    }

    private void noteEvidence(InetSocketAddress address, Exception failure) {
        if (!asked) {
            refusedFirst = NetworkStack.evidence(address, failure);
        }
        asked |= NetworkStack.leadsThere(address);
    }

    private static String whose(InetSocketAddress address, Exception failure) {
        return failure instanceof ConnectException && !NetworkStack.leadsThere(address)
                ? " (this host has that address too, and has answered itself)"
                : "";
    }

    private static String outcome(String step, Exception e, boolean refused) {
        if (refused) {
            return e instanceof EOFException ? "refused our proof of the secret" : "proof: " + Causes.describe(e);
        }
        return step + ": " + Causes.describe(e);
    }

    private String name() {
        return switch (purpose) {
            case RENDEZVOUS -> "rendezvous server of rank 0";
            case COORDINATOR -> "coordinator of rank 0";
            case RELAY -> "relay above";
            case JOIN -> "members of the job";
            case STATUS -> "status server";
        };
    }

    /** Notes the outcome of an attempt to connect to an address. */
    public void note(Object address, String outcome) {
        outcomes.put(address.toString(), outcome);
    }

    /** Returns how many proofs of the secret were refused. */
    public int refusedProofs() {
        return refusedProofs;
    }

    /** Returns the outcome of the last attempt to connect to each address. */
    public Map<String, String> outcomes() {
        return new LinkedHashMap<>(outcomes);
    }

    /** Returns the outcome of the last attempt to connect to each address, one per line. */
    public String table() {
        return outcomes.entrySet().stream()
                .map(row -> "\n  " + row.getKey() + "  " + row.getValue())
                .collect(Collectors.joining());
    }

    /**
     * Waits before another attempt.
     *
     * @throws InterruptedCommunicationException if this thread is interrupted
     */
    public void sleep(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw interrupted(e);
        }
    }

    public InterruptedCommunicationException interrupted(Exception e) {
        return new InterruptedCommunicationException(who + " was interrupted while it looked for the " + name(), e);
    }
}
