package io.jccl.fuzz;

import io.jccl.UniqueId;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.zip.CRC32;

/**
 * Fuzz target: unique ids as bytes, as text, and as bytes to which a valid checksum is added. The first byte selects
 * the form.
 */
public final class UniqueIdFuzz {

    private UniqueIdFuzz() {}

    /** Reads the bytes; throws unless they are read or are refused with a reason. */
    public static void fuzzerTestOneInput(byte[] data) {
        if (data.length == 0) {
            return;
        }
        byte[] body = Arrays.copyOfRange(data, 1, data.length);
        try {
            UniqueId id =
                    switch ((data[0] & 0xff) % 3) {
                        case 0 -> UniqueId.fromBytes(body);
                        case 1 -> UniqueId.parse(new String(body, StandardCharsets.UTF_8));
                        default -> UniqueId.fromBytes(checked(body));
                    };
            UniqueId again = UniqueId.parse(id.toText());
            if (!again.equals(id)
                    || !Arrays.equals(UniqueId.fromBytes(id.toBytes()).toBytes(), id.toBytes())) {
                throw new IllegalStateException("changed by writing and reading: " + id.toText());
            }
        } catch (IllegalArgumentException e) {
            if (e.getMessage() == null || e.getMessage().isEmpty()) {
                throw new IllegalStateException("refused without a reason", e);
            }
        }
    }

    private static byte[] checked(byte[] body) {
        CRC32 check = new CRC32();
        check.update(body);
        return ByteBuffer.allocate(body.length + Integer.BYTES)
                .put(body)
                .putInt((int) check.getValue())
                .array();
    }

    /** Returns valid inputs, with which a fuzzer starts. */
    public static SortedMap<String, byte[]> seeds() throws UnknownHostException {
        UniqueId id = UniqueId.of(
                List.of(new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), 8080)),
                new byte[UniqueId.SECRET_BYTES]);
        SortedMap<String, byte[]> seeds = new TreeMap<>();
        seeds.put("bytes", prefixed(0, id.toBytes()));
        seeds.put("unchecked", prefixed(2, Arrays.copyOf(id.toBytes(), id.toBytes().length - Integer.BYTES)));
        seeds.put("text", prefixed(1, id.toText().getBytes(StandardCharsets.UTF_8)));
        return seeds;
    }

    private static byte[] prefixed(int first, byte[] body) {
        byte[] all = new byte[body.length + 1];
        all[0] = (byte) first;
        System.arraycopy(body, 0, all, 1, body.length);
        return all;
    }
}
