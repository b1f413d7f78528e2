package io.jccl.wire;

import io.jccl.BootstrapException;
import io.jccl.internal.Causes;
import io.jccl.internal.ResourceLimits;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Listens, and turns connections that prove the secret into {@link FrameLink}s. Unauthenticated peers cost at most
 * {@value #MAX_UNAUTHENTICATED} sockets with a small buffer each, for at most five seconds, and one log line a second.
 * If there are more peers, the server closes the oldest once it is a second old. Until then further peers wait in the
 * kernel's queue, so that the server refuses none of thousands of ranks that connect at once. Uses one thread.
 */
public final class Server implements Closeable {

    /** The service that a server provides. Called on the server's thread. */
    public interface Service extends FrameLink.Owner {

        /** Called regularly. Returns the nanoseconds until the next call is due. */
        long onTick(long now);

        /** Called once if no connection could be accepted for a second, for a reason in this process or host. */
        default void onExhausted(String why) {}
    }

    /** The maximum number of connections that have not proved the secret yet. */
    public static final int MAX_UNAUTHENTICATED = 512;

    private static final Logger LOG = LoggerFactory.getLogger(Server.class);
    private static final long MAX_HANDSHAKE_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final long MIN_HANDSHAKE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long SWEEP_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

    /** The number of connections that the kernel keeps until they are accepted. */
    static final int BACKLOG = 1024;

    /** A key, and the owner of the connections whose peers prove that they know it. */
    private record Entrance(Handshake.Key key, FrameLink.Owner owner) {}

    private final List<Entrance> entrances = new ArrayList<>();
    private final Service service;
    private final LongSupplier clock;
    private final Reactor reactor;
    private final ServerSocketChannel acceptor;
    private final boolean ownsAcceptor;
    private final boolean ownsReactor;
    private final Reactor.Ticker ticker;
    private final Set<UnauthenticatedPeer> unauthenticated = new LinkedHashSet<>(); // oldest first
    // its interest set is empty while the limit of unauthenticated peers is reached, and during a pause
    private final SelectionKey accepting;
    private final Exhaustion exhaustion = new Exhaustion();
    private final UnauthenticatedPeerLog peerLog = new UnauthenticatedPeerLog(LOG::info);
    private final int port;

    /**
     * Starts to listen.
     *
     * @param address null for all addresses of this host
     * @param port 0 for any free port
     * @throws BootstrapException if the port is not available
     */
    public Server(Handshake.Key key, InetAddress address, int port, LongSupplier clock, Service service) {
        this(key, listening(new InetSocketAddress(address, port)), true, clock, service);
    }

    /**
     * Starts to serve a non-blocking channel that already listens.
     *
     * @param ownsAcceptor true if the channel is closed with the server
     */
    public Server(
            Handshake.Key key,
            ServerSocketChannel acceptor,
            boolean ownsAcceptor,
            LongSupplier clock,
            Service service) {
        this(
                key,
                newReactor(key.purpose(), clock, ownsAcceptor ? acceptor : null),
                true,
                acceptor,
                ownsAcceptor,
                clock,
                service);
    }

    /**
     * Uses a reactor that the server does not own to serve a channel that already listens. Called on that reactor's
     * thread, or before it starts.
     */
    public Server(
            Handshake.Key key, Reactor reactor, ServerSocketChannel acceptor, LongSupplier clock, Service service) {
        this(key, reactor, false, acceptor, true, clock, service);
    }

    private Server(
            Handshake.Key key,
            Reactor reactor,
            boolean ownsReactor,
            ServerSocketChannel acceptor,
            boolean ownsAcceptor,
            LongSupplier clock,
            Service service) {
        alsoServe(key, service);
        this.clock = clock;
        this.service = service;
        this.acceptor = acceptor;
        this.ownsAcceptor = ownsAcceptor;
        this.reactor = reactor;
        this.ownsReactor = ownsReactor;
        try {
            this.port = ((InetSocketAddress) acceptor.getLocalAddress()).getPort();
            this.accepting = reactor.register(acceptor, SelectionKey.OP_ACCEPT, new Acceptor());
        } catch (IOException e) {
            if (ownsReactor) {
                reactor.close();
            } else {
                Reactor.closeQuietly(acceptor);
            }
            throw new BootstrapException("cannot listen: " + Causes.describe(e), e);
        }
        this.ticker = reactor.every(this::tick);
    }

    /** Creates a reactor. If that fails, closes the channel that the server owns, which may be null. */
    private static Reactor newReactor(Handshake.Purpose purpose, LongSupplier clock, ServerSocketChannel owned) {
        try {
            return new Reactor("jccl-" + purpose.name().toLowerCase(Locale.ROOT), clock);
        } catch (BootstrapException e) {
            if (owned != null) {
                Reactor.closeQuietly(owned);
            }
            throw e;
        }
    }

    /**
     * Opens a non-blocking channel that listens.
     *
     * @throws BootstrapException if the port is not available
     */
    public static ServerSocketChannel listening(InetSocketAddress local) {
        ServerSocketChannel opened = null;
        try {
            opened = ServerSocketChannel.open();
            opened.setOption(StandardSocketOptions.SO_REUSEADDR, true);
            opened.bind(local, BACKLOG);
            opened.configureBlocking(false);
            return opened;
        } catch (IOException e) {
            if (opened != null) {
                Reactor.closeQuietly(opened);
            }
            throw new BootstrapException(
                    "cannot listen on address=" + local + ": " + Causes.describe(e) + remedy(local, e), e);
        }
    }

    /**
     * Returns the remedy for a refused port, as the end of a message. Names the port's setting only if the port is the
     * reason and a user chose it; the kernel chooses for port 0.
     */
    static String remedy(InetSocketAddress local, IOException refused) {
        String choose =
                "; choose another port for the rendezvous of this job (JCCL_RENDEZVOUS, or its launcher's setting such"
                        + " as MASTER_PORT)";
        String text = refused.toString();
        if (text.contains("Permission denied")) {
            return "; lower ports need rights: "
                    + ResourceLimits.ofThisProcess().unprivilegedPorts() + choose;
        }
        if (!(refused instanceof BindException) || !text.contains("in use")) {
            return "";
        }
        if (local.getPort() == 0) {
            return "; port 0 asks the kernel for any free port: "
                    + ResourceLimits.ofThisProcess().ephemeralPorts()
                    + "; widen that range, or end what holds its ports (ss -tan)";
        }
        return "; is another job using the port? ss -ltnp shows who listens" + choose;
    }

    /** Also accepts connections for another purpose. Called before {@link #start}. */
    public void alsoServe(Handshake.Key key, FrameLink.Owner owner) {
        entrances.add(new Entrance(key, owner));
    }

    public void start() {
        reactor.start();
    }

    /**
     * Reserves a descriptor, with which {@link Service#onExhausted} can report to peers that could otherwise not be
     * accepted. Called before {@link #start}.
     */
    public void keepSpareDescriptor() {
        exhaustion.keepSpare();
    }

    /** Closes the reserved descriptor. */
    public void releaseSpareDescriptor() {
        exhaustion.releaseSpare();
    }

    public int port() {
        return port;
    }

    public Reactor reactor() {
        return reactor;
    }

    /**
     * Closes the reactor if this server owns it. Otherwise stops listening and keeps the links; the caller must then be
     * on the reactor's thread.
     */
    @Override
    public void close() {
        exhaustion.releaseSpare();
        if (ownsReactor) {
            reactor.close();
            return;
        }
        ticker.end();
        accepting.cancel();
        Reactor.closeQuietly(acceptor);
        for (UnauthenticatedPeer peer : new ArrayList<>(unauthenticated)) {
            peer.drop("all that were awaited have come");
        }
    }

    /** Does the regular work. Allocates nothing while nobody connects. */
    private long tick(long now) {
        if (!unauthenticated.isEmpty()) {
            sweep(now);
        }
        resume();
        long next = service.onTick(now);
        if (!exhaustion.mayAccept(now)) {
            return Math.min(next, Exhaustion.PAUSE_NANOS);
        }
        return unauthenticated.isEmpty() ? next : Math.min(next, SWEEP_NANOS);
    }

    private void sweep(long now) {
        for (UnauthenticatedPeer peer : new ArrayList<>(unauthenticated)) {
            if (now - peer.since < MAX_HANDSHAKE_NANOS) {
                break;
            }
            peer.drop(
                    "it did not finish the handshake in " + TimeUnit.NANOSECONDS.toSeconds(MAX_HANDSHAKE_NANOS) + " s");
        }
    }

    private boolean isFull() {
        return unauthenticated.size() >= MAX_UNAUTHENTICATED
                && clock.getAsLong() - unauthenticated.iterator().next().since < MIN_HANDSHAKE_NANOS;
    }

    private void resume() {
        if (accepting.isValid()
                && accepting.interestOps() == 0
                && !isFull()
                && exhaustion.mayAccept(clock.getAsLong())) {
            accepting.interestOps(SelectionKey.OP_ACCEPT);
        }
    }

    private final class Acceptor implements Reactor.Handler {

        @Override
        public boolean outlivesReactor() {
            return !ownsAcceptor;
        }

        @Override
        public void ready(SelectionKey key) throws IOException {
            for (int i = 0; i < 64; i++) {
                if (isFull()) {
                    accepting.interestOps(0);
                    return;
                }
                SocketChannel channel = acceptor.accept();
                exhaustion.accepted();
                if (channel == null) {
                    return;
                }
                admit(channel);
            }
        }

        private void admit(SocketChannel channel) {
            try {
                if (unauthenticated.size() >= MAX_UNAUTHENTICATED) {
                    unauthenticated
                            .iterator()
                            .next()
                            .drop("too many unauthenticated peers at once, limit=" + MAX_UNAUTHENTICATED);
                }
                channel.configureBlocking(false);
                channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
                channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
                UnauthenticatedPeer peer = new UnauthenticatedPeer(channel);
                peer.key = reactor.register(channel, SelectionKey.OP_READ, peer);
                unauthenticated.add(peer);
            } catch (IOException e) {
                Reactor.closeQuietly(channel);
            }
        }

        @Override
        public void failed(Throwable cause) {
            long now = clock.getAsLong();
            if (exhaustion.refused(now, port, cause)) {
                service.onExhausted(exhaustion.why());
            }
            // Peers that began the handshake just now stay connected: they would take a closed connection for a
            // refusal.
            for (UnauthenticatedPeer peer : new ArrayList<>(unauthenticated)) {
                if (now - peer.since >= MIN_HANDSHAKE_NANOS) {
                    peer.drop("accept failed: " + Causes.describe(cause));
                }
            }
            accepting.interestOps(0); // further peers wait in the kernel's queue
            reactor.tickSoon(); // so that a tick ends the pause in time
        }
    }

    /** A connection that has not proved the secret yet. Reads exactly the bytes of the handshake and no more. */
    private final class UnauthenticatedPeer implements Reactor.Handler {

        private final SocketChannel channel;
        private final WireChannel wire;
        private final String remote;
        private final long since = clock.getAsLong();
        private final byte[] serverNonce = Handshake.randomBytes(Handshake.NONCE_BYTES);
        private ByteBuffer expected = ByteBuffer.allocate(Handshake.GREETING_BYTES);
        private byte[] rankNonce; // null until a peer without encryption has greeted
        private EncryptedHandshake.Accepted accepted; // null until a peer with encryption has proved the secret
        private SelectionKey key;

        UnauthenticatedPeer(SocketChannel channel) throws IOException {
            this.channel = channel;
            this.wire = new WireChannel(channel);
            this.remote = String.valueOf(channel.getRemoteAddress());
        }

        @Override
        public void ready(SelectionKey ready) throws IOException {
            if (channel.read(expected) < 0) {
                throw new EOFException("it closed the connection before the handshake was done");
            }
            boolean greets = rankNonce == null && accepted == null;
            if (greets && startsWrong()) {
                throw new WireException("not a JCCL greeting");
            }
            if (expected.hasRemaining()) {
                return;
            }
            if (greets) {
                greet();
            } else if (accepted != null) {
                confirm();
            } else {
                verify();
            }
        }

        private boolean startsWrong() {
            byte[] ours = greeting();
            int n = Math.min(expected.position(), 6);
            return !Arrays.equals(expected.array(), 0, n, ours, 0, n);
        }

        private byte[] greeting() {
            return Handshake.greeting(serverNonce, generation());
        }

        private int generation() {
            return entrances.get(0).key().generation();
        }

        private boolean encrypts() {
            return entrances.get(0).key().encrypted();
        }

        private void greet() throws IOException {
            byte[] theirs = expected.array();
            boolean encrypted = Handshake.isEncrypted(theirs);
            if (encrypted && encrypts()) {
                greetEncrypted(theirs);
                return;
            }
            try {
                if (encrypted) {
                    Handshake.requireEncrypted(theirs, generation());
                    rankNonce = Arrays.copyOfRange(theirs, Handshake.HEADER_BYTES, Handshake.GREETING_BYTES);
                } else {
                    rankNonce = Handshake.nonceOf(theirs, generation());
                }
            } finally {
                // sent even if the version or generation differs, so that the peer's message can name ours
                write(greeting());
            }
            int rest = encrypted ? EncryptedHandshake.GREETING_BYTES - Handshake.GREETING_BYTES : 0;
            expected = ByteBuffer.allocate(rest + Handshake.PROOF_BYTES);
        }

        private void greetEncrypted(byte[] theirs) throws IOException {
            if (theirs.length < EncryptedHandshake.GREETING_BYTES) {
                expected =
                        ByteBuffer.allocate(EncryptedHandshake.GREETING_BYTES).put(theirs);
                return;
            }
            try {
                Handshake.requireEncrypted(theirs, generation());
            } finally {
                write(EncryptedHandshake.serverHeader(generation())); // as in greet()
            }
            accepted = EncryptedHandshake.accept(
                    theirs, entrances.stream().map(Entrance::key).toList());
            write(accepted.answer());
            expected = ByteBuffer.allocate(EncryptedHandshake.CONFIRMATION_BYTES);
        }

        private void confirm() throws IOException {
            accepted.confirm(expected.array(), wire);
            Entrance proved = entrances.stream()
                    .filter(one -> one.key() == accepted.key())
                    .findFirst()
                    .orElseThrow();
            take(proved.owner());
        }

        private void verify() throws IOException {
            byte[] sent = expected.array();
            byte[] theirs = Arrays.copyOfRange(sent, sent.length - Handshake.PROOF_BYTES, sent.length);
            Entrance proved = null;
            for (Entrance one : entrances) {
                byte[] proof = Handshake.rankProof(one.key().secret(), one.key().purpose(), rankNonce, serverNonce);
                proved = Handshake.same(proof, theirs) ? one : proved;
            }
            if (proved == null) {
                throw new WireException("its proof of the secret is wrong");
            }
            Handshake.Key mine = proved.key();
            write(Handshake.serverProof(mine.secret(), mine.purpose(), rankNonce, serverNonce));
            boolean encrypted = sent.length > Handshake.PROOF_BYTES;
            if (encrypted == encrypts()) {
                take(proved.owner());
                return;
            }
            String why = "JCCL_ENCRYPTION differs between ranks: the "
                    + mine.purpose().name().toLowerCase(Locale.ROOT) + " server "
                    + (encrypted
                            ? "does not encrypt, remote=" + remote + " does"
                            : "encrypts, remote=" + remote + " does not")
                    + "; set the same value on all ranks (JCCL_ENCRYPTION, or CommunicatorConfig.Builder.encryption)";
            proved.owner().onOtherEncryption(why);
            if (encrypted) {
                throw new WireException(why); // the peer knows, and reads nothing more
            }
            take(new Refusing(why));
        }

        private void take(FrameLink.Owner owner) throws IOException {
            unauthenticated.remove(this);
            resume();
            new FrameLink(reactor, wire, owner); // the link takes over the selection key
        }

        /** Writes a few bytes, which always fit into an empty send buffer. */
        private void write(byte[] bytes) throws IOException {
            if (channel.write(ByteBuffer.wrap(bytes)) != bytes.length) {
                throw new IOException("its receive window is closed");
            }
            reactor.countSent(bytes.length);
        }

        @Override
        public void failed(Throwable cause) {
            drop(Causes.describe(cause));
        }

        void drop(String why) {
            unauthenticated.remove(this);
            resume();
            key.cancel();
            Reactor.closeQuietly(channel);
            peerLog.ignored(remote, why, clock.getAsLong());
        }
    }

    /** Refuses peers that have proved the secret. */
    private record Refusing(String why) implements FrameLink.Owner {

        @Override
        public void onFrame(FrameLink link, FrameType type, WireReader body) {
            link.send(FrameType.REFUSED, new WireWriter().text(why, Limits.MAX_TEXT));
            link.closeWhenSent();
        }

        @Override
        public void onClosed(FrameLink link, String closed) {
            LOG.debug("remote={}: left before it was refused: {}", link.remote(), closed);
        }
    }
}
