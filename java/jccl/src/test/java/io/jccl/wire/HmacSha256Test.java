package io.jccl.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;

class HmacSha256Test {

    private static final Random RANDOM = new Random(1);

    @Test
    void digestsEqualThoseOfTheJdk() throws Exception {
        for (int keyBytes = 1; keyBytes <= 130; keyBytes++) {
            byte[] key = bytes(keyBytes);
            byte[] first = bytes(RANDOM.nextInt(200));
            byte[] second = bytes(RANDOM.nextInt(200));
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            mac.update(first);

            assertThat(HmacSha256.of(key, first, second))
                    .as("key of %d bytes", keyBytes)
                    .isEqualTo(mac.doFinal(second));
        }
    }

    private static byte[] bytes(int count) {
        byte[] bytes = new byte[count];
        RANDOM.nextBytes(bytes);
        return bytes;
    }
}
