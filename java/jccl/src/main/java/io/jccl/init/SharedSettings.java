package io.jccl.init;

import io.jccl.BootstrapException;
import io.jccl.parts.InitContext;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Compares the settings that must be the same on all ranks. The values have a gather of their own. Its answer is short,
 * because it contains equal values of successive ranks only once.
 */
final class SharedSettings {

    private static final int MAX_SETTINGS = 64;
    private static final int MAX_CHARS = 65_535;

    private SharedSettings() {}

    /**
     * One rank's value of a setting.
     *
     * @param name the name under which it is set, JCCL's or NCCL's
     * @param text the value as text; empty if it is not set
     */
    record Value(String name, String text) {
        /** Returns true if the value may be ignored: it is not set, or is set under a name of NCCL's. */
        boolean isDispensable() {
            return text.isEmpty() || name.startsWith("NCCL_");
        }
    }

    /**
     * Compares the settings. All ranks call this together, and find the same difference.
     *
     * @param mine this rank's values, by the names of the settings
     * @param dispensable the settings that may be ignored if they differ
     * @return the dispensable settings that differ and are set under NCCL's names; all ranks must ignore them
     * @throws BootstrapException if other settings differ
     */
    static Set<String> requireSame(InitContext context, Map<String, Value> mine, Set<String> dispensable) {
        List<byte[]> all = context.allGather(encode(mine));
        Map<String, Value> first = decode(0, all.get(0));
        Set<String> ignored = new TreeSet<>();
        for (int peer = 1; peer < all.size(); peer++) {
            if (!Arrays.equals(all.get(peer), all.get(0))) {
                ignored.addAll(requireSame(first, peer, decode(peer, all.get(peer)), dispensable));
            }
        }
        return ignored;
    }

    private static Set<String> requireSame(
            Map<String, Value> first, int peer, Map<String, Value> theirs, Set<String> dispensable) {
        Set<String> ignored = new TreeSet<>();
        for (Map.Entry<String, Value> setting : first.entrySet()) {
            Value mine = setting.getValue();
            Value their = theirs.get(setting.getKey());
            if (their == null || !mine.text.equals(their.text)) {
                boolean mayIgnore = their != null && mine.isDispensable() && their.isDispensable();
                if (!mayIgnore || !dispensable.contains(setting.getKey())) {
                    throw different(setting.getKey(), mine, peer, their);
                }
                ignored.add(setting.getKey());
            }
        }
        return ignored;
    }

    static BootstrapException different(String setting, Value first, int peer, Value their) {
        String name = their == null || their.name.equals(first.name) ? "" : their.name + "=";
        boolean named = first.name.equals(setting) && name.isEmpty();
        return new BootstrapException(first.name + "=\"" + first.text + "\" on rank=0 but "
                + (their == null ? "unknown" : name + "\"" + their.text + "\"") + " on rank=" + peer
                + (named ? ": this setting" : ": " + setting) + " must be the same on all ranks");
    }

    static byte[] encode(Map<String, Value> settings) {
        WireWriter out = new WireWriter().i32(settings.size());
        for (Map.Entry<String, Value> setting : settings.entrySet()) {
            out.text(setting.getKey(), MAX_CHARS)
                    .text(setting.getValue().name, MAX_CHARS)
                    .text(setting.getValue().text, MAX_CHARS);
        }
        return out.toBytes();
    }

    static Map<String, Value> decode(int rank, byte[] bytes) {
        try {
            WireReader in = new WireReader(bytes);
            Map<String, Value> settings = new TreeMap<>();
            for (int left = in.i32In("settings", 0, MAX_SETTINGS); left > 0; left--) {
                settings.put(in.text(MAX_CHARS), new Value(in.text(MAX_CHARS), in.text(MAX_CHARS)));
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
