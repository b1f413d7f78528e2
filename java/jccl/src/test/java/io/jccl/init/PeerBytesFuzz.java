package io.jccl.init;

import io.jccl.BootstrapException;
import io.jccl.TransportException;
import io.jccl.topology.Processors;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Fuzz target: bytes that ranks send each other while a communicator is initialised. The first byte selects the reader.
 */
public final class PeerBytesFuzz {

    private PeerBytesFuzz() {}

    /** Reads the bytes; throws unless they are read or are refused with a reason. */
    public static void fuzzerTestOneInput(byte[] data) {
        if (data.length == 0) {
            return;
        }
        byte[] body = Arrays.copyOfRange(data, 1, data.length);
        try {
            switch ((data[0] & 0xff) % 3) {
                case 0 -> {
                    PeerInfo info = PeerInfo.decode(1, body);
                    if (!info.equals(PeerInfo.decode(1, info.encode()))) {
                        throw new IllegalStateException("changed by writing and reading: " + info);
                    }
                }
                case 1 -> {
                    Map<String, SharedSettings.Value> settings = SharedSettings.decode(1, body);
                    if (!settings.equals(SharedSettings.decode(1, SharedSettings.encode(settings)))) {
                        throw new IllegalStateException("changed by writing and reading: " + settings);
                    }
                }
                default -> PeerDevice.read(new WireReader(body));
            }
        } catch (BootstrapException | TransportException e) {
            if (!e.getMessage().contains("1")) { // the number of the sending rank
                throw new IllegalStateException("does not name the rank that sent it", e);
            }
        } catch (WireException e) {
            if (e.getMessage().isEmpty()) {
                throw new IllegalStateException("refused without a reason", e);
            }
        }
    }

    /** Returns valid inputs, with which a fuzzer starts. */
    public static SortedMap<String, byte[]> seeds() {
        PeerDevice device = new PeerDevice(1, "uuid", "0000:01:00.0", 90, 16, 8, true);
        PeerInfo info = new PeerInfo(
                "a", "domain", "42", new Processors(4, "0-3"), 0, Optional.of(device), "p", "00", "01", true, true);
        SortedMap<String, byte[]> seeds = new TreeMap<>();
        seeds.put("info", with(0, info.encode()));
        SharedSettings.Value ring = new SharedSettings.Value("NCCL_ALGO", "ring");
        seeds.put("settings", with(1, SharedSettings.encode(new TreeMap<>(Map.of("JCCL_ALGO", ring)))));
        return seeds;
    }

    private static byte[] with(int reader, byte[] body) {
        byte[] all = new byte[body.length + 1];
        all[0] = (byte) reader;
        System.arraycopy(body, 0, all, 1, body.length);
        return all;
    }
}
