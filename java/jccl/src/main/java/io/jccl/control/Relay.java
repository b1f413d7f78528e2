package io.jccl.control;

import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.internal.Causes;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.rendezvous.Connector;
import io.jccl.rendezvous.FrameStream;
import io.jccl.rendezvous.InterfaceCandidate;
import io.jccl.rendezvous.NetworkInterfaces;
import io.jccl.rendezvous.RankRegistration;
import io.jccl.wire.Addresses;
import io.jccl.wire.FrameLink;
import io.jccl.wire.FrameType;
import io.jccl.wire.Handshake;
import io.jccl.wire.Reactor;
import io.jccl.wire.Server;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
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
 * rank, and this rank passes them to the ranks below. Only these answers use the tree. So the tree does not delay the
 * detection of failures, and the coordinator can serve a rank that loses its place. Runs on the reactor of the rank's
 * connection to the coordinator.
 */
public final class Relay implements Server.Service {

    /** Receives the answers from the rank above. Called on the reactor's thread. */
    interface Receiver {

        /** Receives the answer of a gather. */
        void gathered(WireReader body);

        /** Called when the connection to the rank above cannot be made or is lost: no more answers come from there. */
        void unrelayed();
    }

    /**
     * The number of ranks to which each rank passes an answer. Fewer ranks mean fewer bytes to send, more ranks mean
     * fewer steps to the last rank.
     */
    public static final int FAN_OUT = 4;

    private static final Logger LOG = LoggerFactory.getLogger(Relay.class);

    private static final int MAX_ADDRESSES = 4;
    private static final long TICK_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final int rank;
    private final int size;
    private final Reactor reactor;
    private final byte[] secret;
    private final BootstrapOptions options;
    private final List<FrameLink> below = new ArrayList<>();
    private Server server; // null if there are no ranks below
    private FrameLink above; // null if there is no connection

    /** Creates a rank's place, to which no rank is connected yet. */
    Relay(int rank, int size, Reactor reactor, byte[] secret, BootstrapOptions options) {
        this.rank = rank;
        this.size = size;
        this.reactor = reactor;
        this.secret = secret;
        this.options = options;
    }

    /** Returns true if, of {@code size} ranks, some receive long answers from another rank than the coordinator's. */
    static boolean isUsed(int size) {
        return size > FAN_OUT + 1;
    }

    /** Returns the rank that passes answers to the given rank. */
    static int above(int rank) {
        return (rank - 1) / FAN_OUT;
    }

    private int ranksBelow() {
        return rank == 0 ? 0 : Math.max(0, Math.min(FAN_OUT, size - 1 - rank * FAN_OUT));
    }

    /**
     * Listens for the ranks below until all of them have connected.
     *
     * @param local this host's best address; null if none is known to be better than the others
     * @return the addresses at which the ranks below reach this rank; empty if there are no ranks below
     */
    byte[] listen(InetAddress local) {
        if (ranksBelow() == 0) {
            return new byte[0];
        }
        List<InterfaceCandidate> candidates = NetworkInterfaces.preferring(NetworkInterfaces.usable(options), local);
        InetSocketAddress any = new InetSocketAddress(NetworkInterfaces.bindAddress(candidates), 0);
        reactor.invoke(() -> server = new Server(
                new Handshake.Key(Handshake.Purpose.RELAY, secret, options.generation(), options.encrypted()),
                reactor,
                Server.listening(any),
                options.clock(),
                this));
        return Addresses.encode(NetworkInterfaces.withPort(candidates, server.port(), MAX_ADDRESSES));
    }

    /** Connects to the rank above, unless the coordinator serves this rank itself. Blocks. */
    void connect(RankRegistration.Hello hello, byte[] addresses, Receiver receiver, long deadline) {
        if (rank <= FAN_OUT) {
            return;
        }
        String who = "rank " + rank;
        FrameStream stream = null;
        try {
            Connector.ServerAddress target = new Connector.ServerAddress(Addresses.decode(addresses), secret);
            stream = new Connector(
                            Handshake.Purpose.RELAY,
                            who,
                            false,
                            Connector.IfRefused.RANK_ZERO_ENDED,
                            options.generation())
                    .encrypting(options.encrypted())
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

    /** Admits a rank below. */
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

    /** Passes the body of an answer to the ranks below. Called on the reactor's thread. */
    void passOn(WireReader answer) {
        if (!below.isEmpty()) {
            ByteBuffer frame = FrameLink.encode(FrameType.GATHERED, answer.rest());
            below.forEach(link -> link.send(frame));
        }
    }

    /** Closes the connections to the ranks above and below. Called on the reactor's thread. */
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
