package io.jccl.membership;

import io.jccl.BootstrapException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.internal.Causes;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.rendezvous.Connector;
import io.jccl.rendezvous.FrameStream;
import io.jccl.rendezvous.RankRegistration;
import io.jccl.wire.Addresses;
import io.jccl.wire.FrameType;
import io.jccl.wire.Handshake;
import io.jccl.wire.Limits;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Finds the leader for a process that joins while a communicator is reformed. Asks the addresses of all members in
 * turn, again and again. A member that does not lead names the leader; a member that does not reform accepts the
 * connection and is silent, or refuses the connection. For use by one thread, which may be interrupted.
 */
final class JoinSearch {

    private static final long CONNECT_MILLIS = 500;
    private static final long MIN_HANDSHAKE_MILLIS = 500;
    private static final long MAX_HANDSHAKE_MILLIS = 5000;
    private static final long MIN_BACKOFF_MILLIS = 10;
    private static final long MAX_BACKOFF_MILLIS = 100;
    private static final int MAX_REFUSED_ROUNDS = 5;
    private static final String WAITS = "waits for other ranks or processes";
    private static final long ANSWER_GRACE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /**
     * A place in a group whose ranks have all come.
     *
     * @param rendezvous the connection to the leader
     * @param secret the secret of the rendezvous
     * @param jobKey the key that processes which join later must prove
     * @param earlier the earlier groups of which ranks may still live
     * @param welcome the blob that the leader sent when all had come
     */
    record Place(
            FrameStream rendezvous,
            int generation,
            int rank,
            int size,
            byte[] secret,
            byte[] jobKey,
            List<EarlierGroup> earlier,
            byte[] welcome) {}

    private final JobMembers members;
    private final int order;
    private final BootstrapOptions options;
    private final Consumer<JoinAttempt> progress;
    private final Connector connector = new Connector(
            Handshake.Purpose.JOIN,
            "the process that joins",
            true,
            Connector.IfRefused.NOT_OPEN_YET,
            Handshake.ANY_GENERATION);
    // addresses of the leader that another rank has named; asked first, but only once
    private List<InetSocketAddress> leader = List.of();
    private byte[] jobKey; // null while the key is not known

    /**
     * Creates a search.
     *
     * @param progress receives the results of the attempts so far, repeatedly, on the thread that waits
     */
    JoinSearch(JobMembers members, int order, BootstrapOptions options, Consumer<JoinAttempt> progress) {
        this.members = members;
        this.order = order;
        this.options = options;
        this.progress = progress;
        connector.encrypting(options.encrypted());
    }

    /**
     * Waits for a place until a deadline of {@link System#nanoTime}.
     *
     * @throws BootstrapException if this process is refused; the message says why
     * @throws CommunicationTimeoutException if no rank admitted this process in time
     * @throws io.jccl.InterruptedCommunicationException if this thread is interrupted
     */
    Place await(long deadline) {
        long backoff = MIN_BACKOFF_MILLIS;
        long handshake = MIN_HANDSHAKE_MILLIS;
        int refusedRounds = 0;
        while (true) {
            int refused = connector.refusedProofs();
            Round round = round(handshake, deadline);
            if (round.place() != null) {
                return round.place();
            }
            report();
            long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
            if (!round.proved() && connector.refusedProofs() > refused) {
                refusedRounds++;
                // if no time is left, this round has not asked all addresses and proves nothing
            } else if (round.proved() || left > 0) {
                refusedRounds = 0;
            }
            if (refusedRounds >= (left > 0 ? MAX_REFUSED_ROUNDS : 1)) {
                throw new BootstrapException("the process that joins was refused by members=" + members
                        + ": its secret is not the job's; set JCCL_RENDEZVOUS=HOST:PORT/SECRET, or pass the UniqueId, as on"
                        + " the ranks of the job. Addresses tried:" + connector.table());
            }
            if (left <= 0) {
                throw new CommunicationTimeoutException(
                        "the process that joins members=" + members + " was not taken in within initTimeoutMillis="
                                + options.initTimeout().toMillis()
                                + "; do the ranks of the job call reform(survivors, joiners), with as many joiners as there"
                                + " are such processes? Or raise JCCL_INIT_TIMEOUT. Addresses tried:"
                                + connector.table(),
                        Set.of(),
                        null);
            }
            if (leader.isEmpty()) {
                connector.sleep(Math.min(backoff, left));
                backoff = Math.min(MAX_BACKOFF_MILLIS, backoff * 2);
                handshake = Math.min(MAX_HANDSHAKE_MILLIS, handshake * 2);
            }
        }
    }

    /**
     * The result of asking every address once.
     *
     * @param place null if there is none
     * @param proved true if any rank knew the job's key
     */
    private record Round(Place place, boolean proved) {}

    private Round round(long handshakeMillis, long deadline) {
        List<InetSocketAddress> addresses = new ArrayList<>(leader);
        try {
            Connector.ServerAddress all = members.locate();
            jobKey = all.secret();
            all.addresses().stream().filter(one -> !addresses.contains(one)).forEach(addresses::add);
        } catch (IOException e) {
            connector.note("(addresses of members)", Causes.describe(e));
            return new Round(null, false);
        }
        boolean afterHint = !leader.isEmpty();
        leader = List.of();
        boolean proved = false;
        for (InetSocketAddress address : addresses) {
            long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
            if (left <= 0) {
                break;
            }
            long handshakeEnd = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(Math.min(left, handshakeMillis));
            FrameStream stream = connector.attempt(address, jobKey, Math.min(left, CONNECT_MILLIS), handshakeEnd);
            if (stream == null) {
                continue;
            }
            proved = true;
            Place place = ask(stream, address, deadline);
            if (place != null) {
                return new Round(place, true);
            }
            if (!leader.isEmpty() && !afterHint) {
                break; // ends the round, so that the next one begins with the leader
            }
        }
        if (afterHint) {
            leader = List.of(); // if the named leader names yet another leader, the search pauses before the next round
        }
        return new Round(null, proved);
    }

    private void report() {
        progress.accept(new JoinAttempt(Optional.ofNullable(jobKey), connector.outcomes()));
    }

    /** Asks a rank for a place and waits for the answer. Returns null if the rank gives no place. */
    private Place ask(FrameStream stream, InetSocketAddress address, long deadline) {
        Place place = null;
        try {
            stream.writeFrame(
                    FrameType.HELLO,
                    new RankRegistration.Hello(options.version(), order, 0, -1, "", new byte[0]).write());
            connector.note(address, WAITS);
            report();
            FrameStream.Frame frame = stream.readFrame(deadline, FrameType.MAX_BODY_BYTES);
            WireReader body = frame.body();
            switch (frame.type()) {
                case ADMITTED -> {
                    int generation = body.i32In("generation", 1, Integer.MAX_VALUE);
                    int rank = body.i32In("rank", 1, Limits.MAX_RANKS - 1);
                    int size = body.i32In("size", rank + 1, Limits.MAX_RANKS);
                    byte[] secret = body.blob(Handshake.PROOF_BYTES);
                    List<EarlierGroup> earlier = EarlierGroup.read(body, size);
                    body.end();
                    byte[] welcome = FrameStream.welcome(
                            "rank " + rank, stream.readFrame(System.nanoTime() + ANSWER_GRACE_NANOS), size);
                    place = new Place(stream, generation, rank, size, secret, jobKey, earlier, welcome);
                }
                case LEADER -> {
                    leader = Addresses.decode(body.blob(FrameType.MAX_HELLO_BYTES));
                    connector.note(address, "does not lead; names " + leader);
                }
                case LATER -> connector.note(address, "has no place: " + body.text(Limits.MAX_TEXT));
                case REFUSED -> throw new BootstrapException(
                        "the process that joins was refused by " + address + ": " + body.text(Limits.MAX_TEXT));
                default -> throw new WireException("frame=" + frame.type() + ": not expected by a process that joins");
            }
        } catch (SocketTimeoutException e) {
            connector.note(address, WAITS);
        } catch (IOException | WireException e) {
            if (Thread.currentThread().isInterrupted()) {
                throw connector.interrupted(e);
            }
            connector.note(address, "while it was asked for a place: " + Causes.describe(e));
        } finally {
            if (place == null) {
                stream.close();
            }
        }
        return place;
    }
}
