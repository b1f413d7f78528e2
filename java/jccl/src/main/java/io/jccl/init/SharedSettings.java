package io.jccl.init;

import io.jccl.BootstrapException;
import io.jccl.bootstrap.WireException;
import io.jccl.bootstrap.WireReader;
import io.jccl.bootstrap.WireWriter;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Compares the settings that all ranks must share. They have a gather of their own: where they are the same, its answer
 * has them once.
 */
final class SharedSettings {

    private static final int MAX_SETTINGS = 64;
    private static final int MAX_CHARS = 65_535;

    private SharedSettings() {}

    /**
     * Compares; all ranks call it together, and find the same difference.
     *
     * @param mine this rank's, as texts by name
     * @throws BootstrapException if settings differ
     */
    static void requireSame(InitContext context, Map<String, String> mine) {
        List<byte[]> all = context.allGather(encode(mine));
        Map<String, String> first = decode(0, all.get(0));
        for (int peer = 1; peer < all.size(); peer++) {
            if (!Arrays.equals(all.get(peer), all.get(0))) {
                requireSame(first, peer, decode(peer, all.get(peer)));
            }
        }
    }

    private static void requireSame(Map<String, String> first, int peer, Map<String, String> theirs) {
        for (Map.Entry<String, String> setting : first.entrySet()) {
            String their = theirs.get(setting.getKey());
            if (!setting.getValue().equals(their)) {
                throw new BootstrapException(setting.getKey() + "=\"" + setting.getValue() + "\" on rank=0 but "
                        + (their == null ? "unknown" : "\"" + their + "\"") + " on rank=" + peer
                        + ": this setting must be the same on all ranks");
            }
        }
    }

    static byte[] encode(Map<String, String> settings) {
        WireWriter out = new WireWriter().i32(settings.size());
        for (Map.Entry<String, String> setting : settings.entrySet()) {
            out.text(setting.getKey(), MAX_CHARS).text(setting.getValue(), MAX_CHARS);
        }
        return out.toBytes();
    }

    static Map<String, String> decode(int rank, byte[] bytes) {
        try {
            WireReader in = new WireReader(bytes);
            Map<String, String> settings = new TreeMap<>();
            for (int left = in.i32In("settings", 0, MAX_SETTINGS); left > 0; left--) {
                settings.put(in.text(MAX_CHARS), in.text(MAX_CHARS));
            }
            in.end();
            return settings;
        } catch (WireException e) {
            throw new BootstrapException(
                    "rank=" + rank + " bytes=" + bytes.length + ": sent settings that make no sense, " + e.getMessage()
                            + "; use the same JCCL version on all ranks",
                    e);
        }
    }
}
