package io.jccl.fuzz;

import io.jccl.BootstrapException;
import io.jccl.planning.SurveyCodec;
import io.jccl.planning.SurveySeeds;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/** Fuzz target: the channels that a rank has found, as other ranks read them. */
public final class SurveyFuzz {

    private static final List<Integer> RANKS = List.of(3, 5, 9);
    private static final int RANK = 3;
    private static final String HOST = "a";

    private SurveyFuzz() {}

    /** Reads the bytes; throws if they do anything but be read or refused. */
    public static void fuzzerTestOneInput(byte[] data) {
        try {
            SurveyCodec.Found found = SurveyCodec.decode(RANK, HOST, RANKS, data);
            byte[] again = SurveyCodec.encode(found, true);
            if (!SurveyCodec.decode(RANK, HOST, RANKS, again).equals(found)) {
                throw new IllegalStateException("written and read again it is another: " + found);
            }
        } catch (BootstrapException e) {
            if (!e.getMessage().startsWith("rank=3 bytes=" + data.length)) {
                throw new IllegalStateException("does not name the rank that sent it", e);
            }
        }
    }

    /** Inputs that are read, for a fuzzer to begin with. */
    public static SortedMap<String, byte[]> seeds() {
        return new TreeMap<>(Map.of("survey", SurveySeeds.one()));
    }
}
