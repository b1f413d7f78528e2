package io.jccl.status;

import io.jccl.wire.EncryptedHandshake;
import io.jccl.wire.Exhaustion;
import io.jccl.wire.Handshake;
import io.jccl.wire.Reactor;
import io.jccl.wire.WireException;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers questions about this process: on a Unix socket that only the process's user can reach, and on a TCP port to
 * peers that prove a key. Each connection has one question. One daemon thread serves all connections and sleeps while
 * nobody asks.
 */
final class StatusServer implements Closeable {

    /** The source of the answers. Called on the server's thread. */
    interface Service {

        /** Returns the keys that a peer may prove. */
        List<byte[]> keys();

        /** Returns true if TCP connections must be encrypted. */
        boolean encrypts();

        /**
         * Answers a question, at once or later.
         *
         * @param key the key that the peer has proved; empty for this process's own user
         * @param answer receives the answer, on the server's thread
         */
        void answer(Request request, Optional<byte[]> key, Consumer<byte[]> answer);
    }

    /** The largest number of connections at once. */
    static final int MAX_CONNECTIONS = 64;

    /** The largest number of connections of peers that have not proved a key. */
    static final int MAX_UNAUTHENTICATED = 32;

    /** The time within which a peer must prove the key and ask. */
    static final long MAX_ASK_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** The time within which an answer must be complete, including sending it. */
    static final long MAX_ANSWER_NANOS = TimeUnit.SECONDS.toNanos(30);

    private static final Logger LOG = LoggerFactory.getLogger(StatusServer.class);
    private static final long SWEEP_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

    private final Reactor reactor = Reactor.ofProcess("jccl-status");
    private final Service service;
    private final List<ServerSocketChannel> acceptors = new ArrayList<>();
    private final Set<Connection> open = new LinkedHashSet<>(); // oldest first
    private Reactor.Ticker ticker; // null while there is no connection
    private int port;

    /** Makes a server that does not listen yet. */
    StatusServer(Service service) {
        this.service = service;
    }

    /** Listens on a channel of TCP or of a Unix socket. Call this before {@link #start}. */
    void listen(ServerSocketChannel acceptor) throws IOException {
        acceptors.add(acceptor);
        acceptor.configureBlocking(false);
        Acceptor handler = new Acceptor(acceptor);
        handler.key = reactor.register(acceptor, SelectionKey.OP_ACCEPT, handler);
        if (acceptor.getLocalAddress() instanceof InetSocketAddress address) {
            port = address.getPort();
        }
    }

    void start() {
        reactor.start();
    }

    /** Returns the TCP port; 0 if there is none. */
    int port() {
        return port;
    }

    Reactor reactor() {
        return reactor;
    }

    @Override
    public void close() {
        reactor.close();
        acceptors.forEach(Reactor::closeQuietly); // needed if the reactor was never started
    }

    private final class Acceptor implements Reactor.Handler {

        private final ServerSocketChannel acceptor;
        private final Exhaustion exhaustion = new Exhaustion();
        private SelectionKey key;
        private Reactor.Ticker pause; // null unless accepting is paused

        Acceptor(ServerSocketChannel acceptor) {
            this.acceptor = acceptor;
        }

        @Override
        public void ready(SelectionKey key) throws IOException {
            SocketChannel channel = acceptor.accept();
            exhaustion.accepted();
            if (channel == null) {
                return;
            }
            makeRoom();
            try {
                channel.configureBlocking(false);
                boolean isOwnUser = !(acceptor.getLocalAddress() instanceof InetSocketAddress);
                Connection connection = new Connection(channel, isOwnUser);
                connection.register(reactor, SelectionKey.OP_READ);
                open.add(connection);
                if (ticker == null) {
                    ticker = reactor.every(StatusServer.this::sweep);
                }
            } catch (IOException e) {
                LOG.debug("a connection to the status server broke at once: {}", e.toString());
                Reactor.closeQuietly(channel);
            }
        }

        /**
         * If there are too many connections of unauthenticated peers, drops the oldest of these. Otherwise, if there
         * are too many connections in all, drops the oldest of all.
         */
        private void makeRoom() {
            List<Connection> unauthenticated =
                    open.stream().filter(one -> !one.isTrusted()).toList();
            if (unauthenticated.size() >= MAX_UNAUTHENTICATED) {
                unauthenticated.get(0).drop("too many unauthenticated peers at once, limit=" + MAX_UNAUTHENTICATED);
            } else if (open.size() >= MAX_CONNECTIONS) {
                open.iterator().next().drop("too many connections at once, limit=" + MAX_CONNECTIONS);
            }
        }

        @Override
        public void failed(Throwable cause) {
            exhaustion.refused(System.nanoTime(), port, cause);
            for (Connection connection : List.copyOf(open)) {
                connection.drop("accept failed");
            }
            if (pause == null && key.isValid()) {
                key.interestOps(0); // new connections stay in the kernel's queue
                pause = reactor.every(this::resume);
            }
        }

        private long resume(long now) {
            if (exhaustion.mayAccept(System.nanoTime()) && key.isValid()) {
                key.interestOps(SelectionKey.OP_ACCEPT);
                pause.end();
                pause = null;
            }
            return Exhaustion.PAUSE_NANOS;
        }
    }

    private long sweep(long now) {
        for (Connection connection : List.copyOf(open)) {
            if (now - connection.deadline >= 0) {
                connection.drop("it took too long");
            }
        }
        if (open.isEmpty()) {
            ticker.end();
            ticker = null;
        }
        return SWEEP_NANOS;
    }

    /** A connection of a peer that asks. */
    private final class Connection extends StatusConnection {

        private final SocketAddress remote;
        private final byte[] serverNonce = Handshake.randomBytes(Handshake.NONCE_BYTES);
        private byte[] peerNonce; // null until a peer without encryption has greeted
        private byte[] encryptedGreeting; // the first part of the greeting of a peer with encryption, or null
        private EncryptedHandshake.Accepted accepted; // null until such a peer has proved a key
        private final boolean isOwnUser;
        private byte[] key; // the key that the peer has proved, or null
        private long deadline = System.nanoTime() + MAX_ASK_NANOS;

        Connection(SocketChannel channel, boolean isOwnUser) throws IOException {
            super(channel, Request.MAX_BYTES);
            this.remote = channel.getRemoteAddress();
            this.isOwnUser = isOwnUser;
            if (isOwnUser) {
                expectMessage();
            } else {
                expectHandshake(Handshake.GREETING_BYTES);
            }
        }

        boolean isTrusted() {
            return isOwnUser || key != null;
        }

        @Override
        void handshake(byte[] bytes) throws IOException {
            if (accepted != null) {
                accepted.confirm(bytes, wire);
                key = accepted.key().secret();
                expectMessage();
                return;
            }
            if (encryptedGreeting != null) {
                accept(bytes);
                return;
            }
            if (peerNonce == null && Handshake.isEncrypted(bytes)) {
                encryptedGreeting = bytes;
                expectHandshake(EncryptedHandshake.GREETING_BYTES - bytes.length);
                return;
            }
            if (peerNonce == null) {
                peerNonce = Handshake.nonceOf(bytes);
                if (service.encrypts()) {
                    send(EncryptedHandshake.requirement(serverNonce)); // the peer connects again
                    closeWhenSent();
                    return;
                }
                send(Handshake.greeting(serverNonce));
                expectHandshake(Handshake.PROOF_BYTES);
                return;
            }
            for (byte[] one : service.keys()) {
                byte[] proof = Handshake.rankProof(one, Handshake.Purpose.STATUS, peerNonce, serverNonce);
                if (Handshake.same(proof, bytes)) {
                    key = one;
                    send(Handshake.serverProof(one, Handshake.Purpose.STATUS, peerNonce, serverNonce));
                    expectMessage();
                    return;
                }
            }
            throw new WireException("its proof of the secret is wrong");
        }

        private void accept(byte[] restOfGreeting) throws IOException {
            byte[] greeting = ByteBuffer.allocate(EncryptedHandshake.GREETING_BYTES)
                    .put(encryptedGreeting)
                    .put(restOfGreeting)
                    .array();
            send(EncryptedHandshake.serverHeader(Handshake.ANY_GENERATION));
            accepted = EncryptedHandshake.accept(
                    greeting,
                    service.keys().stream()
                            .map(one ->
                                    new Handshake.Key(Handshake.Purpose.STATUS, one, Handshake.ANY_GENERATION, true))
                            .toList());
            send(accepted.answer());
            expectHandshake(EncryptedHandshake.CONFIRMATION_BYTES);
        }

        @Override
        void message(byte[] bytes) throws IOException {
            deadline = System.nanoTime() + MAX_ANSWER_NANOS;
            Request request;
            try {
                request = Request.decode(bytes);
            } catch (Request.OtherVersionException e) {
                finish(Answer.refusal(e.getMessage()));
                return;
            }
            service.answer(request, Optional.ofNullable(key), this::finish);
        }

        private void finish(byte[] answer) {
            if (isClosed()) {
                return;
            }
            try {
                sendMessage(answer);
                closeWhenSent();
            } catch (IOException e) {
                failed(e);
            }
        }

        @Override
        void broken(Throwable cause) {
            LOG.debug("status server: remote={} is gone: {}", remote, cause.toString());
        }

        void drop(String why) {
            LOG.debug("status server: remote={} is dropped: {}", remote, why);
            close();
        }

        @Override
        void close() {
            open.remove(this);
            super.close();
        }
    }
}
