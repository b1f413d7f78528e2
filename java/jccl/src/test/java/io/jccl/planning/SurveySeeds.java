package io.jccl.planning;

/** What {@link SurveyCodec} writes, for tests of other packages. */
public final class SurveySeeds {

    private SurveySeeds() {}

    /** What the lowest rank of a host with ranks 3, 5 and 9 sends, with a plan for its GPUs too. */
    public static byte[] one() {
        return SurveyCodecTest.bytesOfBoth();
    }
}
