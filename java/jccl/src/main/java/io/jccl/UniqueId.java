package io.jccl;

import io.jccl.internal.Arguments;
import io.jccl.internal.Causes;
import io.jccl.internal.LocatedAddress;
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
 * What the ranks of one communicator must know to find each other: the addresses of the rendezvous server, and a secret
 * that every connection proves. One rank makes it with {@link #create()}; the application moves it to the others, as bytes
 * or as text, by whatever means it has. Whoever holds the id can join the communicator, so treat it like a password.
 *
 * <p>Layout of {@link #toBytes()}, at most {@value #MAX_BYTES} bytes:
 *
 * <pre>
 *   'J' 'C' version(1) n(1) secret(16) stack(8) then n times: length(1: 4 or 16) address(length) port(2, big endian);
 *   at the end CRC-32 of all before (4, big endian)
 * </pre>
 *
 * <p>The stack distinguishes the network namespace whose addresses these are; 0 if it is not known.
 *
 * <p>Immutable and safe for use by any thread.
 */
public final class UniqueId {

    /** The most bytes that {@link #toBytes()} returns. */
    public static final int MAX_BYTES = 128;

    /** The length of the secret in bytes. */
    public static final int SECRET_BYTES = 16;

    /** The most addresses that an id carries. */
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
     * Starts a rendezvous server in this process and returns its id. The server lives until all ranks of the communicator
     * have registered, or until the initialisation time-out has passed.
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
        return Providers.provider().createUniqueId(Arguments.required("config", config, CommunicatorConfig.EXPECTED));
    }

    /**
     * An id of known parts.
     *
     * @param addresses 1 to {@value #MAX_ADDRESSES} resolved addresses of the rendezvous server, best first
     * @param secret {@value #SECRET_BYTES} random bytes
     * @throws IllegalArgumentException if a part is not as said
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
     * Reads what {@link #toBytes()} wrote.
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

    /** The id as bytes, for moving it to other processes. Contains the secret. */
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
     * Reads what {@link #toText()} wrote.
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

    /** The id as one word of printable text, for environment variables and files. Contains the secret. */
    public String toText() {
        return TEXT_PREFIX + Base64.getUrlEncoder().withoutPadding().encodeToString(toBytes());
    }

    /** The addresses of the rendezvous server, best first; immutable. */
    public List<InetSocketAddress> addresses() {
        return addresses;
    }

    /** A copy of the secret, {@value #SECRET_BYTES} bytes. */
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

    /** The rendezvous server's addresses; the secret is left out, so that the text may be logged. */
    @Override
    public String toString() {
        return "UniqueId[rendezvous=" + addresses + "]";
    }
}
