package io.jccl.bootstrap;

import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.internal.Causes;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A rank's place in the tree through which long answers of gathers reach all ranks: the rank above passes them to this
 * one, and this one to the ranks below. Nothing else uses the tree, so that no failure is found later by it, and a rank
 * that loses its place is served by the coordinator. Runs on the reactor of the rank's connection to the coordinator.
 */
final class Relay implements Server.Service {

    /** What a rank does with what comes from the rank above. Called on the reactor's thread. */
    interface Receiver {

        /** The answer of a gather. */
        void gathered(WireReader body);

        /** Nothing comes from there any more. */
        void unrelayed();
    }

    /** How many ranks get an answer from each: few bytes to send for each, few steps to the last. */
    static final int FAN_OUT = 4;

    private static final Logger LOG = LoggerFactory.getLogger(Relay.class);

    private static final int MAX_ADDRESSES = 4;
    private static final long TICK_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final int rank;
    private final int size;
    private final Reactor reactor;
    private final byte[] secret;
    private final int generation;
    private final List<FrameLink> below = new ArrayList<>();
    private Server server; // null: no ranks below
    private FrameLink above; // null: none

    /** A rank's place, where nobody is connected yet. */
    Relay(int rank, int size, Reactor reactor, byte[] secret, int generation) {
        this.rank = rank;
        this.size = size;
        this.reactor = reactor;
        this.secret = secret;
        this.generation = generation;
    }

    /** Whether there are ranks that the coordinator does not serve itself. */
    static boolean isUsed(int size) {
        return size > FAN_OUT + 1;
    }

    /** The rank that passes answers to a rank. */
    static int above(int rank) {
        return (rank - 1) / FAN_OUT;
    }

    private int ranksBelow() {
        return rank == 0 ? 0 : Math.max(0, Math.min(FAN_OUT, size - 1 - rank * FAN_OUT));
    }

    /**
     * Listens for the ranks below until all have come.
     *
     * @param local this host's best address; null if none is known to be better
     * @return where, for these; empty if there are none
     */
    byte[] listen(InetAddress local, BootstrapOptions options) {
        if (ranksBelow() == 0) {
            return new byte[0];
        }
        List<InterfaceCandidate> candidates = NetworkInterfaces.preferring(NetworkInterfaces.usable(options), local);
        InetSocketAddress any = new InetSocketAddress(NetworkInterfaces.bindAddress(candidates), 0);
        reactor.invoke(() -> server = new Server(
                new Handshake.Key(Handshake.Purpose.RELAY, secret, generation),
                reactor,
                Server.listening(any),
                options.clock(),
                this));
        return RendezvousServer.encodeAddresses(NetworkInterfaces.withPort(candidates, server.port(), MAX_ADDRESSES));
    }

    /** Reaches the rank above, if the coordinator does not serve this one anyway. Blocks. */
    void connect(RankRegistration.Hello hello, byte[] addresses, Receiver receiver, long deadline) {
        if (rank <= FAN_OUT) {
            return;
        }
        String who = "rank " + rank;
        FrameStream stream = null;
        try {
            Connector.ServerAddress target =
                    new Connector.ServerAddress(RendezvousServer.decodeAddresses(addresses), secret);
            stream = new Connector(Handshake.Purpose.RELAY, who, false, Connector.IfRefused.RANK_ZERO_ENDED, generation)
                    .connect(() -> target, deadline);
            stream.awaitWelcome(who, hello, false, 0, deadline);
            take(stream, receiver);
        } catch (InterruptedCommunicationException e) {
            throw e;
        } catch (JcclException | WireException | IOException e) {
            if (stream != null) {
                stream.close();
            }
            LOG.info(
                    "{} does not reach rank={}, which would pass it the answers of gathers; rank 0 sends them itself:"
                            + " {}",
                    who,
                    above(rank),
                    Causes.describe(e));
            reactor.invoke(receiver::unrelayed);
        }
    }

    private void take(FrameStream stream, Receiver receiver) throws IOException {
        IOException[] failure = new IOException[1];
        reactor.invoke(() -> {
            try {
                above = new FrameLink(reactor, stream.release(), new FromAbove(receiver));
                above.allowLongFrames();
            } catch (IOException e) {
                failure[0] = e;
            }
        });
        if (failure[0] != null) {
            throw failure[0];
        }
    }

    private record FromAbove(Receiver receiver) implements FrameLink.Owner {

        @Override
        public void onFrame(FrameLink link, FrameType type, WireReader body) {
            if (type != FrameType.GATHERED) {
                throw new WireException("frame=" + type + ": not expected from the rank above");
            }
            receiver.gathered(body);
        }

        @Override
        public void onClosed(FrameLink link, String why) {
            LOG.debug("the rank above is gone: {}", why);
            receiver.unrelayed();
        }
    }

    /** A rank below comes. */
    @Override
    public void onFrame(FrameLink link, FrameType type, WireReader body) {
        if (type != FrameType.HELLO) {
            throw new WireException("frame=" + type + ": a relay does not accept it");
        }
        RankRegistration.Hello hello = RankRegistration.Hello.read(body);
        if (hello.size() != size || above(hello.rank()) != rank || hello.rank() == 0) {
            RankRegistration.refuse(
                    link, "rank=" + hello.rank() + " size=" + hello.size() + ": not below rank=" + rank);
            return;
        }
        below.add(link);
        link.send(FrameType.WELCOME, new WireWriter().blob(new byte[0]));
        if (below.size() == ranksBelow()) {
            server.close();
        }
    }

    @Override
    public void onClosed(FrameLink link, String why) {
        below.remove(link);
    }

    @Override
    public long onTick(long now) {
        return TICK_NANOS;
    }

    /** Passes the body of an answer to the ranks below. On the reactor's thread. */
    void passOn(WireReader answer) {
        if (!below.isEmpty()) {
            ByteBuffer frame = FrameLink.encode(FrameType.GATHERED, answer.rest());
            below.forEach(link -> link.send(frame));
        }
    }

    /** On the reactor's thread. */
    void close() {
        if (server != null) {
            server.close();
        }
        below.forEach(FrameLink::close);
        if (above != null) {
            above.close();
        }
    }
}
