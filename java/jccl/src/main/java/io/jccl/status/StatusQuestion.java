package io.jccl.status;

import io.jccl.internal.Causes;
import io.jccl.wire.EncryptedHandshake;
import io.jccl.wire.Handshake;
import io.jccl.wire.NetworkStack;
import io.jccl.wire.Reactor;
import io.jccl.wire.WireException;
import java.io.IOException;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** One question to another process, tried at its addresses in turn. Only the reactor's thread may use it. */
final class StatusQuestion {

    /**
     * The outcome of a question.
     *
     * @param answer the answer; null if there is none
     * @param reason the reason if there is no answer, else null
     * @param text details
     */
    record Outcome(Answer answer, Absentee.Reason reason, String text) {}

    /** The time within which an address must accept the connection, if there is another address to try. */
    private static final long CONNECT_NANOS = TimeUnit.MILLISECONDS.toNanos(400);

    private final Reactor reactor;
    private final List<? extends SocketAddress> addresses;
    private final byte[] key; // null: the other end belongs to this user, on a Unix socket
    private final Request request;
    private final Consumer<Outcome> result;
    private final long deadline;
    private final StringBuilder tried = new StringBuilder();
    private Attempt attempt;
    private long attemptDeadline;
    private int next;
    private boolean hasTriedHost; // true if an address on the host of the process was tried
    private boolean hasRefused; // true if the first address on the host of the process refused the connection
    private boolean done;

    /**
     * Makes a question.
     *
     * @param addresses the addresses of the process, best first
     * @param limitNanos the longest time for all attempts together
     * @param result receives the outcome, once
     */
    StatusQuestion(
            Reactor reactor,
            List<? extends SocketAddress> addresses,
            byte[] key,
            Request request,
            long limitNanos,
            Consumer<Outcome> result) {
        this.reactor = reactor;
        this.addresses = addresses;
        this.key = key;
        this.request = request;
        this.result = result;
        this.deadline = System.nanoTime() + limitNanos;
    }

    void start() {
        tryNext();
    }

    private void tryNext() {
        if (done) {
            return;
        }
        if (next == addresses.size()) {
            Absentee.Reason reason = hasRefused ? Absentee.Reason.ENDED : Absentee.Reason.UNREACHABLE;
            finish(new Outcome(null, reason, tried.toString()));
            return;
        }
        SocketAddress address = addresses.get(next++);
        attemptDeadline = next == addresses.size() ? deadline : Math.min(deadline, System.nanoTime() + CONNECT_NANOS);
        attempt(address, false);
    }

    /** Asks an address. Asks it again with encryption if its process requires that. */
    private void attempt(SocketAddress address, boolean encrypts) {
        try {
            attempt = new Attempt(address, encrypts);
            attempt.begin();
        } catch (IOException e) {
            failed(address, e);
        }
    }

    private void failed(SocketAddress address, Throwable cause) {
        if (attempt != null) {
            attempt.close();
        }
        hasRefused |= !hasTriedHost && NetworkStack.indicatesEnd(address, cause);
        hasTriedHost |= NetworkStack.leadsThere(address);
        tried.append(tried.isEmpty() ? "" : "; ").append(address).append(": ").append(Causes.describe(cause));
        tryNext();
    }

    /** Checks the deadlines; call this regularly. Returns true if the question is over. */
    boolean tick(long now) {
        if (!done && now - deadline >= 0) {
            boolean accepted = attempt != null && attempt.isConnected;
            attempt.close();
            finish(new Outcome(
                    null,
                    accepted ? Absentee.Reason.SILENT : Absentee.Reason.UNREACHABLE,
                    accepted ? "it accepts connections and does not answer" : tried + "; no answer to a connection"));
        } else if (!done && now - attemptDeadline >= 0 && !attempt.isConnected) {
            failed(attempt.address, new IOException("no answer to a connection"));
        }
        return done;
    }

    private void finish(Outcome outcome) {
        if (!done) {
            done = true;
            result.accept(outcome);
        }
    }

    private static SocketChannel channel(SocketAddress address) throws IOException {
        return address instanceof UnixDomainSocketAddress
                ? SocketChannel.open(StandardProtocolFamily.UNIX)
                : SocketChannel.open();
    }

    /** One attempt to connect and ask. */
    private final class Attempt extends StatusConnection {

        private final SocketAddress address;
        private final byte[] nonce = Handshake.randomBytes(Handshake.NONCE_BYTES);
        private final EncryptedHandshake encrypting; // null without encryption
        private byte[] serverNonce; // null until the server has greeted
        private boolean isConnected;
        private boolean isProved;

        Attempt(SocketAddress address, boolean encrypts) throws IOException {
            super(channel(address), Answer.MAX_BYTES);
            this.address = address;
            this.encrypting =
                    encrypts ? new EncryptedHandshake(key, Handshake.Purpose.STATUS, Handshake.ANY_GENERATION) : null;
        }

        void begin() throws IOException {
            channel.configureBlocking(false);
            if (channel.connect(address)) {
                register(reactor, SelectionKey.OP_READ);
                connected();
            } else {
                register(reactor, SelectionKey.OP_CONNECT);
            }
        }

        @Override
        void connected() throws IOException {
            isConnected = true;
            if (key == null) {
                ask();
            } else if (encrypting != null) {
                send(encrypting.greeting());
                expectHandshake(Handshake.HEADER_BYTES);
            } else {
                send(Handshake.greeting(nonce));
                expectHandshake(Handshake.GREETING_BYTES);
            }
        }

        private void ask() throws IOException {
            isProved = true;
            expectMessage();
            sendMessage(request.encode());
        }

        @Override
        void handshake(byte[] bytes) throws IOException {
            if (encrypting != null) {
                handshakeEncrypted(bytes);
                return;
            }
            if (serverNonce == null && Handshake.isEncrypted(bytes)) {
                close();
                attempt(address, true);
                return;
            }
            if (serverNonce == null) {
                serverNonce = Handshake.nonceOf(bytes);
                send(Handshake.rankProof(key, Handshake.Purpose.STATUS, nonce, serverNonce));
                expectHandshake(Handshake.PROOF_BYTES);
                return;
            }
            if (!Handshake.same(bytes, Handshake.serverProof(key, Handshake.Purpose.STATUS, nonce, serverNonce))) {
                throw new WireException("it does not know the secret");
            }
            ask();
        }

        private void handshakeEncrypted(byte[] bytes) throws IOException {
            if (serverNonce == null) {
                Handshake.requireEncrypted(bytes, Handshake.ANY_GENERATION);
                serverNonce = bytes;
                expectHandshake(EncryptedHandshake.MESSAGE_BYTES);
                return;
            }
            byte[] confirmation = encrypting.complete(bytes, wire);
            if (channel.write(ByteBuffer.wrap(confirmation)) != confirmation.length) {
                throw new IOException("its receive window is closed");
            }
            ask();
        }

        @Override
        void message(byte[] bytes) {
            close();
            try {
                finish(new Outcome(Answer.decode(bytes), null, ""));
            } catch (Answer.RefusedException | WireException e) {
                finish(new Outcome(null, Absentee.Reason.REFUSED, Causes.describe(e)));
            }
        }

        @Override
        void broken(Throwable cause) {
            boolean refused = isConnected && !isProved && serverNonce != null;
            if (refused || cause instanceof WireException) {
                String text = refused ? "it refuses the proof of the secret" : Causes.describe(cause);
                finish(new Outcome(null, Absentee.Reason.REFUSED, text));
            } else {
                StatusQuestion.this.failed(address, cause);
            }
        }
    }
}
