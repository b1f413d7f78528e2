package io.jccl.config;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/**
 * The variables of this process, as every rank reads them. Java decodes them by the locale, which may differ between hosts: the
 * same secret with an umlaut would become two. Values of JCCL's and NCCL's variables are UTF-8 here, whatever the locale.
 */
public final class EnvironmentVariables {

    private static final int LAST_ASCII = 0x7f;

    private EnvironmentVariables() {}

    /** All variables; where the kernel does not show their bytes, as Java decodes them. */
    public static Map<String, String> all() {
        Map<String, String> decoded = System.getenv();
        if (decoded.values().stream().allMatch(EnvironmentVariables::isAscii)) {
            return decoded;
        }
        try {
            return decoded(decoded, Files.readAllBytes(Path.of("/proc/self/environ")));
        } catch (IOException e) {
            return decoded; // not Linux, or a process that cannot be dumped
        }
    }

    /**
     * The variables with those of ours taken from their bytes.
     *
     * @param decoded as Java decodes them
     * @param raw each variable with a zero behind it
     */
    static Map<String, String> decoded(Map<String, String> decoded, byte[] raw) {
        Map<String, String> all = new HashMap<>(decoded);
        for (String entry : new String(raw, StandardCharsets.UTF_8).split("\0")) {
            int equals = entry.indexOf('=');
            String name = equals < 0 ? "" : entry.substring(0, equals);
            boolean ours = name.startsWith("JCCL_") || name.startsWith("NCCL_");
            if (ours && all.containsKey(name) && !isAscii(all.get(name))) {
                all.put(name, entry.substring(equals + 1));
            }
        }
        return all;
    }

    private static boolean isAscii(String value) {
        return value.chars().allMatch(c -> c <= LAST_ASCII);
    }
}
