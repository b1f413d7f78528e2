package io.jccl;

import io.jccl.internal.Arguments;
import io.jccl.internal.Causes;
import io.jccl.internal.LocatedAddress;
import io.jccl.runtime.Implementation;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.zip.CRC32;

/**
 * The addresses of the rendezvous server and the secret with which the ranks of one communicator find each other. On
 * every connection, both ends prove that they know the secret. One rank makes the id with {@link #create()}; the
 * application sends it to the other ranks, as bytes or as text. Whoever has the id can join the communicator, so treat
 * it like a password.
 *
 * <p>Layout of {@link #toBytes()}, at most {@value #MAX_BYTES} bytes:
 *
 * <pre>
 *   'J' 'C' version(1) n(1) secret(16) stack(8) then n times: length(1: 4 or 16) address(length) port(2, big endian);
 *   at the end the CRC-32 of all preceding bytes (4, big endian)
 * </pre>
 *
 * <p>The stack identifies the network namespace of the addresses; 0 if it is not known.
 *
 * <p>Immutable and safe for use by any thread.
 */
public final class UniqueId {

    /** The largest number of bytes that {@link #toBytes()} returns. */
    public static final int MAX_BYTES = 128;

    /** The length of the secret in bytes. */
    public static final int SECRET_BYTES = 16;

    /** The largest number of addresses in an id. */
    public static final int MAX_ADDRESSES = 5;

    private static final byte VERSION = 2;
    private static final int STACK_BYTES = 8;
    private static final int CHECK_BYTES = 4;
    private static final String TEXT_PREFIX = "jccl1:";

    private final byte[] secret;
    private final List<InetSocketAddress> addresses;

    private UniqueId(List<InetSocketAddress> addresses, byte[] secret) {
        this.addresses = addresses;
        this.secret = secret;
    }

    /**
     * Starts a rendezvous server in this process and returns its id. The server lives until all ranks of the
     * communicator have registered, or until the initialisation time-out has passed.
     *
     * @throws BootstrapException if no network interface is usable
     */
    public static UniqueId create() {
        return create(CommunicatorConfig.defaults());
    }

    /**
     * Like {@link #create()}, with settings such as the interface to listen on.
     *
     * @param config the settings
     * @throws BootstrapException if no network interface is usable
     */
    public static UniqueId create(CommunicatorConfig config) {
        return Implementation.get().createUniqueId(Arguments.required("config", config, CommunicatorConfig.EXPECTED));
    }

    /**
     * Returns an id with the given addresses and secret.
     *
     * @param addresses 1 to {@value #MAX_ADDRESSES} resolved addresses of the rendezvous server, best first
     * @param secret {@value #SECRET_BYTES} random bytes
     * @throws IllegalArgumentException if there are more or fewer addresses or bytes, or an address is not resolved or
     *     has no port
     */
    public static UniqueId of(List<InetSocketAddress> addresses, byte[] secret) {
        Arguments.required("addresses", addresses, "1 to " + MAX_ADDRESSES + " addresses of the rendezvous server");
        Arguments.required("secret", secret, SECRET_BYTES + " random bytes");
        if (addresses.isEmpty() || addresses.size() > MAX_ADDRESSES) {
            throw new IllegalArgumentException("addresses=" + addresses.size() + ": expected 1 to " + MAX_ADDRESSES
                    + " addresses of the rendezvous server");
        }
        for (InetSocketAddress address : addresses) {
            Arguments.required("address", address, "a resolved address with a port");
            if (address.isUnresolved() || address.getPort() == 0) {
                throw new IllegalArgumentException(
                        "address=" + address + ": expected a resolved address with a port; resolve the name first");
            }
        }
        if (secret.length != SECRET_BYTES) {
            throw new IllegalArgumentException(
                    "secret.length=" + secret.length + ": expected " + SECRET_BYTES + " random bytes");
        }
        return new UniqueId(List.copyOf(addresses), secret.clone());
    }

    /**
     * Reads the bytes that {@link #toBytes()} returned.
     *
     * @throws IllegalArgumentException if the bytes are not an id of this version
     */
    public static UniqueId fromBytes(byte[] bytes) {
        Arguments.required("bytes", bytes, "the bytes that UniqueId.toBytes() returned");
        if (bytes.length < 4 + SECRET_BYTES + STACK_BYTES + 7 + CHECK_BYTES
                || bytes.length > MAX_BYTES
                || bytes[0] != 'J'
                || bytes[1] != 'C') {
            throw new IllegalArgumentException("bytes.length=" + bytes.length
                    + ": not a JCCL id; pass the bytes that UniqueId.toBytes() returned, unchanged");
        }
        if (bytes[2] != VERSION) {
            throw new IllegalArgumentException("version=" + bytes[2] + ": this library reads ids of version " + VERSION
                    + "; use the same JCCL version on all ranks");
        }
        int end = bytes.length - CHECK_BYTES;
        if (ByteBuffer.wrap(bytes).getInt(end) != check(bytes, end)) {
            throw new IllegalArgumentException("bytes.length=" + bytes.length
                    + ": a JCCL id was changed on its way; pass the bytes that UniqueId.toBytes() returned, unchanged");
        }
        ByteBuffer in = ByteBuffer.wrap(bytes, 0, end).position(3);
        int n = in.get();
        byte[] secret = new byte[SECRET_BYTES];
        in.get(secret);
        long stack = in.getLong();
        List<InetSocketAddress> addresses = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            addresses.add(readAddress(in, stack));
        }
        if (in.hasRemaining()) {
            throw new IllegalArgumentException("bytes.length=" + bytes.length + ": " + in.remaining()
                    + " bytes too many; pass the bytes that UniqueId.toBytes() returned, unchanged");
        }
        return of(addresses, secret);
    }

    private static InetSocketAddress readAddress(ByteBuffer in, long stack) {
        int length = in.hasRemaining() ? in.get() : 0;
        if ((length != 4 && length != 16) || in.remaining() < length + 2) {
            throw new IllegalArgumentException("address.length=" + length
                    + ": a JCCL id was cut or changed; pass the bytes that UniqueId.toBytes() returned, unchanged");
        }
        byte[] raw = new byte[length];
        in.get(raw);
        try {
            return new LocatedAddress(InetAddress.getByAddress(raw), Short.toUnsignedInt(in.getShort()), stack);
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException("address.length=" + length + ": not an address", e);
        }
    }

    /** Returns the id as bytes, which can be sent to other processes. They contain the secret. */
    public byte[] toBytes() {
        ByteBuffer out = ByteBuffer.allocate(MAX_BYTES);
        out.put((byte) 'J')
                .put((byte) 'C')
                .put(VERSION)
                .put((byte) addresses.size())
                .put(secret)
                .putLong(LocatedAddress.stackOf(addresses));
        for (InetSocketAddress address : addresses) {
            byte[] raw = address.getAddress().getAddress();
            out.put((byte) raw.length).put(raw).putShort((short) address.getPort());
        }
        out.putInt(check(out.array(), out.position()));
        return Arrays.copyOf(out.array(), out.position());
    }

    private static int check(byte[] bytes, int length) {
        CRC32 crc = new CRC32();
        crc.update(bytes, 0, length);
        return (int) crc.getValue();
    }

    /**
     * Reads the text that {@link #toText()} returned.
     *
     * @throws IllegalArgumentException if the text is not an id of this version
     */
    public static UniqueId parse(String text) {
        String trimmed = Arguments.required("text", text, "the text that UniqueId.toText() returned")
                .trim();
        if (!trimmed.startsWith(TEXT_PREFIX)) {
            throw new IllegalArgumentException(
                    "text.length=" + text.length() + ": not a JCCL id; expected text that starts with " + TEXT_PREFIX);
        }
        try {
            return fromBytes(Base64.getUrlDecoder().decode(trimmed.substring(TEXT_PREFIX.length())));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    "text.length=" + text.length() + ": a JCCL id was cut or changed: " + Causes.describe(e), e);
        }
    }

    /** Returns the id as one word of printable text, for environment variables and files. It contains the secret. */
    public String toText() {
        return TEXT_PREFIX + Base64.getUrlEncoder().withoutPadding().encodeToString(toBytes());
    }

    /** Returns the addresses of the rendezvous server, best first; immutable. */
    public List<InetSocketAddress> addresses() {
        return addresses;
    }

    /** Returns a copy of the secret, {@value #SECRET_BYTES} bytes. */
    public byte[] secret() {
        return secret.clone();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof UniqueId that
                && addresses.equals(that.addresses)
                && MessageDigest.isEqual(secret, that.secret);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(secret);
    }

    /** Returns the addresses of the rendezvous server. The secret is left out, so the text may be logged. */
    @Override
    public String toString() {
        return "UniqueId[rendezvous=" + addresses + "]";
    }
}
