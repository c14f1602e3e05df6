package demo

// feedbackText is the text of a review or mention. All text and author names below are invented.
type feedbackText struct {
	sentiment, title, body string
	flags                  []string
	reply                  string // the company's reply
}

var feedbackTexts = []feedbackText{
	{"negative", "Lost a day of notes", "Came back from the field, opened the app, and the whole of Tuesday was gone. It came back after a restart, but my heart stopped.", []string{"defect", "churn"}, "That must have been a bad minute. The notes were on the phone all along; the list was stale after the update. 4.2.1 fixes it. If anything is still missing, write to us and we look at it together."},
	{"negative", "Charged twice", "Two charges for March on my card and support sent me a form. I want my money back, not a form.", []string{"money"}, "You were charged twice, and that is our mistake. The second charge is on its way back and should be with you within five days."},
	{"negative", "Sync stuck at 99", "It has been sitting at 99 % since the last update. Reinstalling did not help.", []string{"defect"}, "Thank you for telling us. One large photograph could block the rest; 4.2.1 sends it last. Please update, and tell us if it stays."},
	{"negative", "Cancel button is hidden", "It took me ten minutes to find how to cancel. That feels deliberate.", []string{"money", "churn", "legal"}, "It should not take ten minutes. Settings, Plan, Cancel is where it is today; from the next version it is on the first page of the settings."},
	{"negative", "Who can see my locations?", "The export has the exact place of every note. I shared it with a client before I noticed. That should be a question, not a default.", []string{"legal", "safety"}, "You are right that it should ask. From 4.3 the export leaves places out unless you switch them on."},
	{"negative", "Battery", "Eats a third of my battery on a day with no signal. It searches for a network the whole time.", []string{"defect"}, "We found it: the search now waits longer each time. On our phones a day without a signal costs 4 % in the new version."},
	{"negative", "Too slow on my tablet", "On a tablet from five years ago opening a notebook takes eight seconds.", nil, "Eight seconds is too long. Large notebooks now open at the last page and load the rest after. Please try 4.2.1."},
	{"negative", "Map warning came too late", "The map showed a path over a bridge that has been closed for a year. Luckily we saw the sign.", []string{"safety"}, "We are glad that you saw the sign. Closures now come from the official list every night; please keep trusting signs over screens."},
	{"neutral", "Good, needs folders", "Does what it says. With folders inside notebooks it would be five stars.", nil, "Folders are what most people ask us for. They are on the public roadmap, and you can follow them there."},
	{"neutral", "Fine for one person", "Good alone. For our team of six the sharing is too coarse: everyone can delete everything.", nil, "Roles for shared notebooks are next on our roadmap: who may read, who may write, who may delete."},
	{"neutral", "Price went up", "The app is fine but the price rose by a third. I will think about it next year.", []string{"money", "churn"}, "We can see why you would think about it. If you stay on the yearly plan, the old price holds for your next year."},
	{"neutral", "", "Does anyone know whether Mossgrove can read notes from a paper notebook? I have twelve of them.", nil, "Not yet. We are working on it: photograph a page, get a note. We will say so here when it can be tried."},
	{"neutral", "Fonts", "Please let me choose a larger font for the list, not only for the note.", nil, "Noted, and thank you. The list follows the font size of the system from 4.3."},
	{"neutral", "", "Comparing field note apps for our survey team: offline is solid, exports are plain text, no web editor. Anything we missed?", nil, "That is a fair summary. A web editor is not planned for this year; an interface for scripts exists."},
	{"positive", "Works in the rain", "First app that takes my thumb when the screen is wet. I use it every day on the boat.", nil, "That is the best place to hear it from. Thank you, and dry days."},
	{"positive", "Offline means offline", "Four days without a signal, forty notes with pictures, all of it there when I got home.", nil, "Four days, forty notes: thank you for taking us along."},
	{"positive", "They answered!", "Wrote on a Sunday about a crash, had an answer from a person on Monday and a fix on Thursday.", nil, "Your report had everything we needed, so half of the fix is yours."},
	{"positive", "Export is honest", "Plain files with a picture folder. No tricks. That is why I pay.", nil, "Your notes are yours. Thank you for paying."},
	{"positive", "", "Switched our whole volunteer group to Mossgrove. Took an evening. The shared notebook is worth it alone.", nil, "An evening for a whole group is quick. Tell us what you miss after the first month."},
	{"positive", "Good on the wrist", "Dictating to my watch while holding a ladder. Finally.", nil, "Please hold on to the ladder. And thank you."},
}

var authors = []string{
	"trailrunner_42", "mossy_boots", "tideline_7", "quietcompass", "fernpress", "ladder_and_level", "northslope_88", "saltmarsh_surveys",
	"ink_and_rain", "potting_shed_3", "ridgewalker_x", "benchmark_1904", "lowlight_lens", "peatland_pat", "orchard_ledger", "two_wet_gloves",
}
