#!/bin/sh
# Makes the fonts in this folder, once, from packages of Debian 12 and npm:
#
#   apt-get install python3-fonttools npm
#   sh internal/tickets/fonts/make.sh
#
# The fonts are those of the packages without hints (a printer needs none),
# and without the signs that no ticket needs. They keep their names: the OFL
# fonts among them reserve none.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

apt-get download fonts-noto-core=20201225-1 fonts-noto-extra=20201225-1 fonts-droid-fallback=1:6.0.1r16-1.1
for deb in *.deb; do dpkg-deb -x "$deb" debian; done
npm pack @expo-google-fonts/noto-emoji@0.4.7 @expo-google-fonts/noto-sans-kr@0.4.3 \
	@expo-google-fonts/noto-sans-jp@0.4.3 @expo-google-fonts/noto-sans-hk@0.4.3
for tgz in *.tgz; do tar xzf "$tgz" --wildcards 'package/400Regular/*' package/LICENSE_FONT; done
noto=debian/usr/share/fonts/truetype/noto
npm=package/400Regular
droid=debian/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf

subset() { # subset FROM TO UNICODES [OPTION ...]
	from=$1 to=$2 unicodes=$3
	shift 3
	/usr/bin/python3 -m fontTools.subset "$from" --output-file="$to.ttf" --unicodes="$unicodes" \
		--layout-features='*' --no-hinting --notdef-outline --drop-tables+=DSIG,FFTM,vhea,vmtx,VORG "$@"
	gzip -9 -n -c "$to.ttf" >"$here/$to.ttf.gz"
}

# missing prints which East Asian signs the last font has and the others have not.
missing() {
	/usr/bin/python3 -c '
import sys
from fontTools.ttLib import TTFont
signs = lambda path: set(TTFont(path, lazy=True).getBestCmap())
blocks = [(0x2E80, 0x9FFF), (0xF900, 0xFAFF), (0xFE30, 0xFE4F), (0xFF00, 0xFFEF), (0x1B000, 0x1B16F), (0x20000, 0x323AF)]
here = set().union(*map(signs, sys.argv[1:-1]))
print("20," + ",".join("%X" % c for c in sorted(signs(sys.argv[-1]) - here) if any(a <= c <= b for a, b in blocks)))' "$@"
}

subset $noto/NotoSans-Regular.ttf sans '*'
subset $noto/NotoSans-SemiBold.ttf sans-semibold '*'
subset $noto/NotoSerifDisplay-SemiBold.ttf serif '*'

# One font for each other script, named by its ISO 15924 code.
for font in Adlam=adlm Arabic=arab Armenian=armn Balinese=bali Bengali=beng CanadianAboriginal=cans Cherokee=cher \
	Devanagari=deva Ethiopic=ethi Georgian=geor Gujarati=gujr Gurmukhi=guru Hebrew=hebr Javanese=java Kannada=knda \
	Khmer=khmr Lao=laoo Malayalam=mlym MeeteiMayek=mtei Mongolian=mong Myanmar=mymr NKo=nkoo OlChiki=olck Oriya=orya \
	Sinhala=sinh Sundanese=sund Syriac=syrc Tamil=taml Telugu=telu Thaana=thaa Thai=thai Tifinagh=tfng Yi=yiii; do
	subset $noto/NotoSans${font%=*}-Regular.ttf ${font#*=} '*'
done
subset $noto/NotoSerifTibetan-Regular.ttf tibt '*'

subset $droid hani '*'
subset $npm/NotoSansKR_400Regular.ttf hang '20,AC00-D7A3,1100-11FF,3130-318F,A960-A97F,D7B0-D7FF'
subset $npm/NotoSansJP_400Regular.ttf hani-jp "$(missing $droid $npm/NotoSansJP_400Regular.ttf)"
subset $npm/NotoSansHK_400Regular.ttf hani-hk "$(missing $droid $npm/NotoSansJP_400Regular.ttf $npm/NotoSansHK_400Regular.ttf)"

subset $npm/NotoEmoji_400Regular.ttf emoji '*'
subset $noto/NotoSansSymbols-Regular.ttf symbols '*'
subset $noto/NotoSansSymbols2-Regular.ttf symbols2 '2190-2BFF'
subset $noto/NotoSansMath-Regular.ttf math '2100-22FF,1D400-1D7FF'

cp /usr/share/common-licenses/Apache-2.0 "$here/LICENSE-Apache-2.0.txt"
